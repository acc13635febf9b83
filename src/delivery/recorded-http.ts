import { gunzipSync } from 'node:zlib';
import type { HeadgateEvent } from '../events/event.ts';
import { toOutgoing, withAttachedFields } from '../events/outgoing.ts';
import type { HttpAnswer, HttpClient, HttpRequest } from '../lib/http/client.ts';
import { MASK, maskSecrets, SecretUrl } from '../lib/secret.ts';
import { truncateToBytes } from '../lib/text.ts';
import { hiddenTextsOf, type MessagePreview, type PreviewContext, type Target } from '../targets/target.ts';

/** A request as it may be shown. */
export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RecordedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A message that nobody has sent, as it may be shown. */
export type ShownMessage =
  | { readonly kind: 'request'; readonly request: RecordedRequest }
  | Exclude<MessagePreview, { readonly kind: 'request' }>;

interface PreviewOptions extends Pick<PreviewContext, 'clock' | 'deliveryId' | 'sender' | 'knownFields'> {
  /** The value of `cribl_host`. */
  readonly instanceName: string;
}

/** The message that a target would send of an event, by the code that sends it, without its secrets; nothing is sent. */
export async function previewMessage(
  target: Target,
  event: HeadgateEvent,
  { instanceName, ...context }: PreviewOptions,
): Promise<{ readonly message: ShownMessage; readonly warning: string | undefined }> {
  const { systemFields } = target.settings;
  const outgoing = toOutgoing(event, systemFields, instanceName);
  const skipped = target.skipReason?.(outgoing);
  if (skipped !== undefined) return { message: { kind: 'nothing', reason: skipped }, warning: undefined };
  let warning: string | undefined;
  const hidden = hiddenTextsOf(target);
  const preview = await target.preview?.([outgoing], {
    ...context,
    whole: withAttachedFields(event, systemFields, instanceName),
    warn: reason => {
      warning ??= maskSecrets(reason, hidden);
    },
  });
  return {
    message: preview === undefined ? { kind: 'nothing', reason: NO_MESSAGE } : toShown(preview, hidden),
    warning,
  };
}

const NO_MESSAGE = 'its message is not known';

function toShown(preview: MessagePreview, hidden: readonly string[]): ShownMessage {
  const shown = (text: string): string => truncateToBytes(maskSecrets(text, hidden), MAX_REQUEST_BYTES);
  switch (preview.kind) {
    case 'request': {
      const { request, hidden: derived = [] } = preview;
      return { kind: 'request', request: toRecordedRequest(request, [...hidden, ...derived]) };
    }
    case 'mail': {
      const { subject, text, html } = preview;
      return { ...preview, subject: shown(subject), text: shown(text), html: shown(html) };
    }
    case 'text':
      return { ...preview, text: shown(preview.text) };
    case 'nothing':
      return { kind: 'nothing', reason: shown(preview.reason) };
  }
}

/** Headers that are never secret; of others only the names are shown. */
const SHOWN_HEADERS: readonly string[] = [
  'content-encoding',
  'content-type',
  'retry-after',
  'user-agent',
  'webhook-id',
  'webhook-timestamp',
];
const MAX_REQUEST_BYTES = 64 * 1024;
const MAX_UNPACKED_BYTES = 1024 * 1024;
const MAX_ANSWER_BYTES = 2048;

/** The same client, which remembers the last exchange, without these texts. */
export function recordHttp(http: HttpClient, hidden: readonly string[]) {
  let request: RecordedRequest | undefined;
  let answer: RecordedAnswer | undefined;
  const client: HttpClient = {
    async request(sent) {
      request = toRecordedRequest(sent, hidden);
      answer = undefined;
      const got = await http.request(sent);
      answer = toRecordedAnswer(got, hidden);
      return got;
    },
    close: http.close,
  };
  return { http: client, last: () => ({ request, answer }) };
}

type Recordable = Pick<HttpRequest, 'url' | 'headers' | 'body'> & Partial<Pick<HttpRequest, 'method'>>;

function toRecordedRequest(sent: Recordable, hidden: readonly string[]): RecordedRequest {
  return {
    method: sent.method ?? 'POST',
    // An address that is a secret prints as its host.
    url: hidden.includes(sent.url) ? new SecretUrl(sent.url).toString() : maskSecrets(sent.url, hidden),
    headers: maskHeaders(sent.headers ?? {}, hidden),
    body: truncateToBytes(maskSecrets(textOf(sent), hidden), MAX_REQUEST_BYTES),
  };
}

function toRecordedAnswer({ status, headers, body }: HttpAnswer, hidden: readonly string[]): RecordedAnswer {
  const text = maskSecrets(body.toString('utf8'), hidden).replace(/(?![\n\t])\p{Cc}/gu, ' ');
  return { status, headers: pickShownHeaders(headers), body: truncateToBytes(text.trim(), MAX_ANSWER_BYTES) };
}

/** Names of headers are sent in lower case. */
function maskHeaders(
  headers: Readonly<Record<string, string>>,
  hidden: readonly string[],
): Record<string, string> {
  const names = hidden.map(text => text.toLowerCase());
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) =>
      SHOWN_HEADERS.includes(name) ? [name, value] : [maskSecrets(name, names), MASK],
    ),
  );
}

const pickShownHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => SHOWN_HEADERS.includes(name)));

function textOf({ body = '', headers = {} }: Recordable): string {
  if (typeof body === 'string') return body;
  if (headers['content-encoding'] !== 'gzip') return body.toString('utf8');
  try {
    return gunzipSync(body, { maxOutputLength: MAX_UNPACKED_BYTES }).toString('utf8');
  } catch {
    return `${body.length} bytes, compressed`;
  }
}
