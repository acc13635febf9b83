import * as z from 'zod';
import { codeOf, reasonOf } from '../lib/errors.ts';
import { HttpFailure } from '../lib/http.ts';
import { CERTIFICATE_WAITS, readable } from './http-outcome.ts';
import type { Outcome } from './outcome.ts';
import type { SmtpSettings } from './smtp-settings.ts';

/** A recipient the server did not take. */
export interface Refusal {
  readonly address: string;
  /** What the server said. */
  readonly reply: string;
  /** It may take the mail for this recipient later. */
  readonly isPassing: boolean;
}

/** Errors of the library, by what this product reads of them. */
const failure = z.object({
  code: z.string().optional().catch(undefined),
  command: z.string().optional().catch(undefined),
  response: z.string().optional().catch(undefined),
  responseCode: z.number().optional().catch(undefined),
});
const refused = z.array(
  z.object({ recipient: z.string(), response: z.string().catch(''), responseCode: z.number().optional() }),
);

/** A reply of class 4 passes (RFC 5321 section 4.2.1), and so does 503: it is about the order of commands. */
const isPassing = (code: number | undefined): boolean => code === undefined || code < 500 || code === 503;

/** Of recipients that were refused one by one; undefined when something else went wrong. */
export function refusalsIn(result: unknown, settings: SmtpSettings): readonly Refusal[] | undefined {
  const errors: unknown =
    typeof result === 'object' && result !== null ? Reflect.get(result, 'rejectedErrors') : undefined;
  return refused.safeParse(errors).data?.map(({ recipient, response, responseCode }) => ({
    address: recipient,
    reply: shown(response, settings),
    isPassing: isPassing(responseCode),
  }));
}

export const refusalText = (refusals: readonly Refusal[]): string => {
  const named = refusals.slice(0, MOST_NAMED).map(({ address, reply }) => `${address} (${reply})`);
  const more = refusals.length - named.length;
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};

const MOST_NAMED = 10;
const MOST_REPLY = 300;

const LOGIN_REMEDY = '; check smtpUsername and smtpPassword';
const TLS_REMEDY = '; check encryptionOption and tls';

/** What TLS says of trust and versions, whatever the library calls it: a person mends that. What only broke off passes. */
const ABOUT_TLS = /certificate|\bSSL\b|\bTLS|protocol version/i;
const BROKE_OFF = /disconnected|hang up|ECONNRESET|EPIPE|timed? ?out/i;

/** What it means that a mail was not taken as a whole. */
export function outcomeOfMailFailure(error: unknown, settings: SmtpSettings): Outcome {
  if (error instanceof HttpFailure) return outcomeOfConnection(error);
  const { code = codeOf(error), command, response, responseCode } = failure.safeParse(error).data ?? {};
  const server = `${settings.host}:${settings.port}`;
  const said = shown(response ?? reasonOf(error), settings);
  const answer = response === undefined ? {} : { answer: said };
  const isAboutTls = code === 'ETLS' || (code === 'ESOCKET' && ABOUT_TLS.test(said));
  // To a login 503 says that there is none.
  const passes = isPassing(responseCode) && !(code === 'EAUTH' && responseCode === 503);
  const remedy = isAboutTls ? TLS_REMEDY : code === 'EAUTH' && !passes ? LOGIN_REMEDY : '';
  const reason = `${server}: ${said}${remedy}`;
  if (isAboutTls && responseCode === undefined) return outcomeOfTls(reason, said);
  if (response === undefined) return { kind: PERMANENT.has(code) ? 'refused' : 'retry', reason };
  if (passes) return { kind: 'retry', reason, ...answer };
  // The sender is the target's, all else may be about this mail or whom it goes to.
  const isAboutMessage = command === 'DATA' || command === 'RCPT TO';
  return { kind: 'refused', reason, ...answer, ...(isAboutMessage && { isAboutMessage }) };
}

/** Codes of the library for what no second attempt mends. */
const PERMANENT: ReadonlySet<string> = new Set([
  'EAUTH',
  'ENOAUTH',
  'ECONFIG',
  'EENVELOPE',
  'EMESSAGE',
  'EFILEACCESS',
  'EURLACCESS',
]);

function outcomeOfConnection({ message: reason, reason: kind }: HttpFailure): Outcome {
  if (kind === 'forbidden-address') return { kind: 'refused', reason };
  return kind === 'tls'
    ? { kind: 'retry', reason, waits: CERTIFICATE_WAITS, isTargetBroken: true }
    : { kind: 'retry', reason };
}

const outcomeOfTls = (reason: string, said: string): Outcome =>
  BROKE_OFF.test(said)
    ? { kind: 'retry', reason }
    : { kind: 'retry', reason, waits: CERTIFICATE_WAITS, isTargetBroken: true };

function shown(text: string, { smtpPassword, smtpUsername: user }: SmtpSettings): string {
  const password = smtpPassword.reveal();
  const base64 = (plain: string): string => Buffer.from(plain).toString('base64');
  const secrets = password === '' ? [] : [base64(`\0${user}\0${password}`), base64(password), password];
  return readable(Buffer.from(text), secrets).replace(/\s+/g, ' ').slice(0, MOST_REPLY);
}
