import { isIPv6, type Socket } from 'node:net';
import { type ConnectionOptions, rootCertificates } from 'node:tls';
import * as z from 'zod';
import type { Dial } from '../../lib/dial.ts';
import { codeOf, reasonOf } from '../../lib/errors.ts';
import { HttpFailure } from '../../lib/http/failure.ts';
import { CERTIFICATE_RETRIES, classifyConnectionFailure, redactText } from '../http-target.ts';
import type { Outcome } from '../outcome.ts';
import type { MailMessage } from './mail.ts';
import type { SmtpSettings } from './settings.ts';

const GREETING_MS = 10_000;
const SILENCE_MS = 30_000;

interface TransferOptions {
  readonly dial: Dial;
  /** The name of this machine, or of the workspace; '' for none. */
  readonly hostname: string;
  readonly signal: AbortSignal;
}

/** Sends a mail to the server over a connection of its own. Rejects with the error of the library or the connection. */
export async function transfer(
  message: MailMessage,
  settings: SmtpSettings,
  { dial, hostname, signal }: TransferOptions,
) {
  // Only needed where mail is sent.
  const { createTransport } = await import('nodemailer');
  const isEncrypted = effectiveEncryption(settings) === 'TLS';
  const tls = tlsOptions(settings);
  const host = settings.host.replace(/^\[|\]$/g, '');
  const { port, smtpUsername: user } = settings;
  const connection = await dial({ host, port, signal, ...(isEncrypted && { tls }) });
  try {
    const transport = createTransport({
      host,
      port,
      connection,
      secure: isEncrypted,
      secured: isEncrypted,
      ...upgradeOptions(settings),
      tls,
      name: ownName(hostname, connection),
      greetingTimeout: GREETING_MS,
      socketTimeout: SILENCE_MS,
      // Distinguishes a server that requires no password from one that should.
      forceAuth: true,
      ...(user !== '' && { auth: { user, pass: settings.smtpPassword.reveal() } }),
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

function tlsOptions({
  tls: { rejectUnauthorized, minVersion, maxVersion, ca },
}: SmtpSettings): ConnectionOptions {
  const isOld = [minVersion, maxVersion].some(version => version === 'TLSv1' || version === 'TLSv1.1');
  const oldest = minVersion ?? (isOld ? maxVersion : undefined);
  return {
    rejectUnauthorized,
    ...(oldest !== undefined && { minVersion: oldest }),
    ...(maxVersion !== undefined && { maxVersion }),
    ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
    // Old versions are requested on purpose: their signatures are refused otherwise.
    ...(isOld && { ciphers: 'DEFAULT@SECLEVEL=0' }),
  };
}

/** The name in the greeting: a whole name, else the address it sends from (RFC 5321 section 4.1.4). */
function ownName(name: string, { localAddress = '127.0.0.1' }: Socket): string {
  if (/^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/.test(name)) return name;
  return isIPv6(localAddress) ? `[IPv6:${localAddress}]` : `[${localAddress}]`;
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
const TLS_REMEDY = '; check encryptionOption and tls';

/**
 * Errors of TLS about trust and versions, whatever the library calls them: a person fixes those. A connection that only
 * broke off passes.
 */
const ABOUT_TLS = /certificate|\bSSL\b|\bTLS|protocol version/i;
const BROKE_OFF = /disconnected|hang up|ECONNRESET|EPIPE|timed? ?out/i;

/** Classifies the failure of a mail that was not accepted as a whole. */
export function classifySmtpFailure(error: unknown, settings: SmtpSettings): Outcome {
  if (error instanceof HttpFailure) return classifyConnectionFailure(error);
  const { code = codeOf(error), command, response, responseCode } = failure.safeParse(error).data ?? {};
  const server = `${settings.host}:${settings.port}`;
  const said = redactReply(response ?? reasonOf(error), settings);
  const answer = response === undefined ? {} : { answer: said };
  const isAboutTls = code === 'ETLS' || (code === 'ESOCKET' && ABOUT_TLS.test(said));
  // In answer to a login, 503 says that there is none.
  const isTransientReply = isPassing(responseCode) && !(code === 'EAUTH' && responseCode === 503);
  const remedy = isAboutTls ? TLS_REMEDY : code === 'EAUTH' && !isTransientReply ? LOGIN_REMEDY : '';
  const reason = `${server}: ${said}${remedy}`;
  if (isAboutTls && responseCode === undefined) return classifyTlsFailure(reason, said);
  if (response === undefined) return { kind: PERMANENT.has(code) ? 'refused' : 'retry', reason };
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

const classifyTlsFailure = (reason: string, said: string): Outcome =>
  BROKE_OFF.test(said)
    ? { kind: 'retry', reason }
    : { kind: 'retry', reason, waits: CERTIFICATE_RETRIES, isTargetBroken: true };

function redactReply(text: string, { smtpPassword, smtpUsername: user }: SmtpSettings): string {
  const password = smtpPassword.reveal();
  const base64 = (plain: string): string => Buffer.from(plain).toString('base64');
  const secrets = password === '' ? [] : [base64(`\0${user}\0${password}`), base64(password), password];
  return redactText(Buffer.from(text), secrets).replace(/\s+/g, ' ').slice(0, MAX_REPLY);
}
