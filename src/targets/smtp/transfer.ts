import { isIPv6, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import * as z from 'zod';
import type { Dial } from '../../lib/dial.ts';
import { codeOf, reasonOf } from '../../lib/errors.ts';
import { HttpFailure } from '../../lib/http/failure.ts';
import { CERTIFICATE_RETRIES, classifyConnectionFailure, redactText } from '../http-target.ts';
import type { Outcome } from '../outcome.ts';
import { tlsOptionsOf } from '../tls-settings.ts';
import type { MailMessage } from './mail.ts';
import type { SmtpSettings } from './settings.ts';
import { type MailProgress, mailPatienceMs } from './steps.ts';

interface TransferOptions {
  readonly dial: Dial;
  /** The name of this machine, or of the workspace; '' for none. */
  readonly hostname: string;
  readonly signal: AbortSignal;
  readonly progress: MailProgress;
  /** Greets with the address it sends from, whatever its name is. */
  readonly isNameless: boolean;
}

/** Sends a mail to the server over a connection of its own. Rejects with the error of the library or the connection. */
export async function transfer(
  message: MailMessage,
  settings: SmtpSettings,
  { dial, hostname, signal, progress, isNameless }: TransferOptions,
) {
  progress.begin('connect', 'connecting');
  // Only needed where mail is sent.
  const { createTransport } = await import('nodemailer');
  const isEncrypted = effectiveEncryption(settings) === 'TLS';
  const tls = tlsOptions(settings);
  const host = settings.host.replace(/^\[|\]$/g, '');
  const { port, smtpUsername: user } = settings;
  const connection = await dial({ host, port, signal, ...(isEncrypted && { tls }) });
  progress.begin('greeting', 'waiting for the greeting');
  try {
    const transport = createTransport({
      host,
      port,
      connection,
      secure: isEncrypted,
      secured: isEncrypted,
      ...upgradeOptions(settings),
      tls,
      name: isNameless ? addressLiteral(connection) : (settings.ehloName ?? ownName(hostname, connection)),
      // Each step has its own limit, which is shorter.
      greetingTimeout: 2 * mailPatienceMs(settings.timeouts),
      socketTimeout: 2 * mailPatienceMs(settings.timeouts),
      transactionLog: true,
      logger: progress.logger,
      // Distinguishes a server that requires no password from one that should.
      forceAuth: true,
      ...(user !== '' && { auth: { user, pass: settings.smtpPassword.reveal() } }),
    });
    transport.use('stream', ({ message: whole }, done) => {
      // What is sent is read from its output, which ends right before the final dot.
      whole.processFunc(input => input.once('end', () => progress.written()));
      done();
    });
    return await transport.sendMail({
      ...message,
      envelope: { ...message.envelope },
      headers: { ...message.headers },
      // Lines of any length arrive whole.
      textEncoding: 'quoted-printable',
      xMailer: false,
      disableFileAccess: true,
      disableUrlAccess: true,
      signal,
    });
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

const effectiveEncryption = ({ encryptionOption, port }: SmtpSettings) =>
  encryptionOption ?? (port === 465 ? 'TLS' : 'STARTTLS');

/** Options of an upgrade to an encrypted connection. A password is never sent in clear, except where NONE says so. */
function upgradeOptions(settings: SmtpSettings) {
  const encryption = effectiveEncryption(settings);
  if (encryption === 'NONE') return { ignoreTLS: true };
  if (encryption === 'TLS') return {};
  const mustBe = encryption === 'STARTTLS_REQUIRED' || settings.smtpUsername !== '';
  return mustBe ? { requireTLS: true } : { opportunisticTLS: true };
}

const tlsOptions = ({ tls }: SmtpSettings): ConnectionOptions => ({
  rejectUnauthorized: tls.rejectUnauthorized,
  ...tlsOptionsOf(tls),
});

/** The name in the greeting: a whole name, else the address it sends from (RFC 5321 section 4.1.4). */
const ownName = (name: string, connection: Socket): string =>
  /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/.test(name) ? name : addressLiteral(connection);

/** RFC 5321 section 4.1.3. */
const addressLiteral = ({ localAddress = '127.0.0.1' }: Socket): string =>
  isIPv6(localAddress) ? `[IPv6:${localAddress}]` : `[${localAddress}]`;

/** True for an answer to the name in the greeting, which servers may give as late as to the recipients. */
export const isAboutName = (reply: string): boolean =>
  /\b(helo|ehlo)\b[^.]*\b(reject|refus|invalid|denied|need|not found|bad)|\b(invalid|bad|unknown|unresolvable)\b[^.]*\b(helo|ehlo)\b/i.test(
    reply,
  );

/** True where the transfer failed over the name. */
export function failedOverName(error: unknown): boolean {
  const { command, response } = failure.safeParse(error).data ?? {};
  if (response === undefined) return false;
  return /^(EHLO|HELO)$/.test(command ?? '') ? /^5/.test(response) : isAboutName(response);
}

/** A recipient that the server did not accept. */
export interface RecipientRefusal {
  readonly address: string;
  readonly reply: string;
  /** The server may accept the mail for this recipient later. */
  readonly isPassing: boolean;
}

/** The fields of the library's errors that this product reads. */
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

/** Reads recipients that were refused one by one; undefined when something else went wrong. */
export function refusalsIn(result: unknown, settings: SmtpSettings): readonly RecipientRefusal[] | undefined {
  const errors: unknown =
    typeof result === 'object' && result !== null ? Reflect.get(result, 'rejectedErrors') : undefined;
  return refused.safeParse(errors).data?.map(({ recipient, response, responseCode }) => ({
    address: recipient,
    reply: redactReply(response, settings),
    isPassing: isPassing(responseCode),
  }));
}

export const describeRefusals = (refusals: readonly RecipientRefusal[]): string => {
  const named = refusals.slice(0, MAX_NAMED).map(({ address, reply }) => `${address} (${reply})`);
  const more = refusals.length - named.length;
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};

const MAX_NAMED = 10;
const MAX_REPLY = 300;

const LOGIN_REMEDY = '; check smtpUsername and smtpPassword';
/** What the library signs in by, where a user name and a password are given. */
const OUR_MECHANISMS = 'PLAIN, LOGIN and CRAM-MD5';

/** RFC 4954 section 4: 504 refuses the mechanism, 503 and 502 the login itself. */
function loginRemedy(responseCode: number | undefined, offered: string | undefined): string {
  const list = offered === undefined ? 'no AUTH' : `AUTH ${offered}`;
  if (responseCode === 504 || offered === undefined)
    return `; the server offers ${list}, and this signs in by ${OUR_MECHANISMS}: have one of those enabled there, or leave smtpUsername and smtpPassword empty`;
  return `${LOGIN_REMEDY}; the server offers ${list}`;
}
const TLS_REMEDY = '; check encryptionOption and tls';

/**
 * Errors of TLS about trust and versions, whatever the library calls them: a person fixes those. A connection that only
 * broke off passes.
 */
const ABOUT_TLS = /certificate|\bSSL\b|\bTLS|protocol version/i;
const BROKE_OFF = /disconnected|hang up|ECONNRESET|EPIPE|timed? ?out/i;

/** Classifies the failure of a mail that was not accepted as a whole; `isWritten` says that all of it was sent. */
export function classifySmtpFailure(
  error: unknown,
  settings: SmtpSettings,
  { isWritten, offered }: Pick<MailProgress, 'isWritten' | 'offered'>,
): Outcome {
  if (error instanceof HttpFailure) return classifyConnectionFailure(error);
  const { code = codeOf(error), command, response, responseCode } = failure.safeParse(error).data ?? {};
  const server = `${settings.host}:${settings.port}`;
  const said = redactReply(response ?? reasonOf(error), settings);
  const answer = response === undefined ? {} : { answer: said };
  const isAboutTls = code === 'ETLS' || (code === 'ESOCKET' && ABOUT_TLS.test(said));
  // In answer to a login, 503 says that there is none.
  const isTransientReply = isPassing(responseCode) && !(code === 'EAUTH' && responseCode === 503);
  const isRefusedLogin = code === 'EAUTH' && !isTransientReply;
  const remedy = isAboutTls ? TLS_REMEDY : isRefusedLogin ? loginRemedy(responseCode, offered) : '';
  const reason = `${server}: ${said}${remedy}`;
  const lost = { kind: isWritten ? 'unknown' : 'retry', reason } as const;
  if (isAboutTls && responseCode === undefined)
    return BROKE_OFF.test(said)
      ? lost
      : { kind: 'retry', reason, waits: CERTIFICATE_RETRIES, isTargetBroken: true };
  if (response === undefined) return PERMANENT.has(code) ? { kind: 'refused', reason } : lost;
  if (isTransientReply) return { kind: 'retry', reason, ...answer };
  // The sender is the target's, all else may be about this mail or its recipients.
  const isAboutMessage = command === 'DATA' || command === 'RCPT TO';
  return { kind: 'refused', reason, ...answer, ...(isAboutMessage && { isAboutMessage }) };
}

/** Codes of the library that no second attempt fixes. */
const PERMANENT: ReadonlySet<string> = new Set([
  'EAUTH',
  'ENOAUTH',
  'ECONFIG',
  'EENVELOPE',
  'EMESSAGE',
  'EFILEACCESS',
  'EURLACCESS',
]);

function redactReply(text: string, { smtpPassword, smtpUsername: user }: SmtpSettings): string {
  const password = smtpPassword.reveal();
  const base64 = (plain: string): string => Buffer.from(plain).toString('base64');
  const secrets = password === '' ? [] : [base64(`\0${user}\0${password}`), base64(password), password];
  return redactText(Buffer.from(text), secrets).replace(/\s+/g, ' ').slice(0, MAX_REPLY);
}
