import { isIPv6, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { type ConnectionOptions, rootCertificates } from 'node:tls';
import type { Dial } from '../lib/dial.ts';
import type { MailMessage } from './mail-message.ts';
import type { SmtpSettings } from './smtp-settings.ts';

const GREETING_MS = 10_000;
const SILENCE_MS = 30_000;

interface Way {
  readonly dial: Dial;
  readonly signal: AbortSignal;
}

/** Hands a mail to the server over a connection of its own. Rejects with what the library or the connection says. */
export async function transfer(message: MailMessage, settings: SmtpSettings, { dial, signal }: Way) {
  // Only whoever sends mail needs it.
  const { createTransport } = await import('nodemailer');
  const isEncrypted = encryptionOf(settings) === 'TLS';
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
      ...upgrade(settings),
      tls,
      name: ownName(connection),
      greetingTimeout: GREETING_MS,
      socketTimeout: SILENCE_MS,
      // A server that asks for no password is told from one that was to ask.
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

const encryptionOf = ({ encryptionOption, port }: SmtpSettings) =>
  encryptionOption ?? (port === 465 ? 'TLS' : 'STARTTLS');

/** Whether the connection becomes encrypted later. A password is never sent in clear, but where NONE says so. */
function upgrade(settings: SmtpSettings) {
  const encryption = encryptionOf(settings);
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
    // Whoever asks for old versions means them: what they sign with is refused otherwise.
    ...(isOld && { ciphers: 'DEFAULT@SECLEVEL=0' }),
  };
}

/** How this machine calls itself: by a whole name, else by the address it speaks from (RFC 5321 section 4.1.4). */
function ownName({ localAddress = '127.0.0.1' }: Socket): string {
  const name = hostname();
  if (/^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/.test(name)) return name;
  return isIPv6(localAddress) ? `[IPv6:${localAddress}]` : `[${localAddress}]`;
}
