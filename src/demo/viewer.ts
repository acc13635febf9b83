import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import * as z from 'zod';
import type { Clock } from '../lib/clock.ts';
import { type Listening, listenOnLoopback } from './loopback.ts';
import { CSS, HTML, SCRIPT } from './viewer-page.ts';

/** A notification as the viewer received it. */
export interface Notice {
  /** Epoch ms. */
  readonly receivedAt: number;
  /** The delivery's id; a repeated delivery has the same. */
  readonly deliveryId: string;
  readonly status: 'ALARM' | 'OK';
  readonly text: string;
  readonly notification: string;
  readonly incidentId: string;
  /** The whole event, as it came. */
  readonly event: unknown;
}

const eventSchema = z.object({
  status: z.enum(['ALARM', 'OK']),
  _raw: z.string(),
  cribl_notification: z.string(),
  incidentId: z.string(),
});

/** Parses the body of a webhook, an event in each line; undefined for anything else. */
function noticesOf(body: string, deliveryId: string, receivedAt: number): Notice[] | undefined {
  const notices: Notice[] = [];
  for (const line of body.split('\n').filter(text => text.trim() !== '')) {
    const event = parseOrUndefined(line);
    const parsed = eventSchema.safeParse(event);
    if (!parsed.success) return undefined;
    const { status, _raw, cribl_notification, incidentId } = parsed.data;
    const shown = { text: _raw, notification: cribl_notification, incidentId };
    notices.push({ receivedAt, deliveryId, status, ...shown, event });
  }
  return notices;
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MOST_NOTICES = 200;
const MOST_READERS = 20;
const MOST_BYTES = 1024 * 1024;

const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:";
const FILES = new Map([
  ['/', { type: 'text/html', text: HTML }],
  ['/viewer.css', { type: 'text/css', text: CSS }],
  ['/viewer.js', { type: 'text/javascript', text: SCRIPT }],
]);

export interface Viewer extends Listening {
  /** Sets the URL of Headgate's page, for links to incidents. */
  linkTo(pageUrl: string): void;
}

/**
 * Receives webhooks at `/hook`, on a free port of loopback, and shows them on a page as they arrive. `received` is called
 * with each one.
 */
export async function startViewer(options: {
  readonly clock: Clock;
  readonly received: (notice: Notice) => void;
}): Promise<Viewer> {
  const { clock, received } = options;
  const notices: Notice[] = [];
  const readers = new Set<ServerResponse>();
  let pageUrl: string | undefined;

  function addNotice(notice: Notice): void {
    notices.push(notice);
    if (notices.length > MOST_NOTICES) notices.shift();
    for (const reader of readers) reader.write(messageOf(notice));
    received(notice);
  }

  /** One message of the event stream (HTML Standard, 9.2). */
  function messageOf(notice: Notice): string {
    const link = pageUrl && { incidentUrl: `${pageUrl}/#/incidents/${notice.incidentId}` };
    return `data: ${JSON.stringify({ ...notice, ...link })}\n\n`;
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    if (body === undefined) return answer(response, 413, 'The body is over 1 MiB');
    const deliveryId = request.headers['webhook-id'];
    const notices = noticesOf(body, typeof deliveryId === 'string' ? deliveryId : '', clock.now());
    if (notices === undefined) return answer(response, 400, 'The body must hold an event in each line');
    notices.forEach(addNotice);
    answer(response, 200, 'received');
  }

  function stream(response: ServerResponse): void {
    if (readers.size >= MOST_READERS) {
      answer(response, 503, 'Too many viewers are open; close one');
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write(`retry: 1000\n\n${notices.map(messageOf).join('')}`);
    readers.add(response);
    response.on('close', () => readers.delete(response));
  }

  const listening = await listenOnLoopback(
    createServer((request, response) => {
      const place = `${request.method} ${request.url}`;
      const file = request.method === 'GET' ? FILES.get(request.url ?? '') : undefined;
      if (place === 'POST /hook') receive(request, response).catch(() => response.destroy());
      else if (place === 'GET /notices') stream(response);
      else if (file === undefined) answer(response, 404, 'Webhooks go to POST /hook, the page is at /');
      else response.writeHead(200, headersOf(file.type)).end(file.text);
    }),
  );
  return {
    ...listening,
    linkTo(url) {
      pageUrl = url;
    },
  };
}

const headersOf = (type: string) => ({
  'content-type': `${type}; charset=utf-8`,
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
});

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, headersOf('text/plain')).end(`${text}\n`);
}

/** Undefined when it is too long. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MOST_BYTES) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}
