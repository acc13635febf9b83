import { X509Certificate } from 'node:crypto';
import { isIPv6 } from 'node:net';
import * as z from 'zod';
import { withAliases } from '../../lib/aliases.ts';
import { secretText } from '../../lib/schemas.ts';
import { Secret } from '../../lib/secret.ts';
import { mailAddress } from '../recipients.ts';
import { commonSettings, EVEN_WHEN_INVALID } from '../target.ts';

const TLS_VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const;
const tlsVersion = z.enum(TLS_VERSIONS).optional();

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function areCertificates(text: string): boolean {
  const found = text.match(PEM) ?? [];
  try {
    return found.length > 0 && found.every(one => new X509Certificate(one).serialNumber !== '');
  } catch {
    return false;
  }
}

const certificates = z
  .string()
  .max(256 * 1024)
  .refine(areCertificates, {
    error: 'must be certificates as PEM, each from BEGIN CERTIFICATE to END CERTIFICATE',
  });

const tls = z
  .strictObject({
    rejectUnauthorized: z.boolean().default(true).describe('Refuse certificates that nobody vouches for.'),
    minVersion: tlsVersion.describe('Oldest version of TLS that is spoken.'),
    maxVersion: tlsVersion.describe('Newest version of TLS that is spoken.'),
    ca: certificates
      .optional()
      .describe('Certificates of your own authority as PEM, beside the known ones: `${file:/path}`.'),
  })
  .superRefine(({ minVersion, maxVersion }, context) => {
    if (minVersion === undefined || maxVersion === undefined) return;
    if (TLS_VERSIONS.indexOf(minVersion) > TLS_VERSIONS.indexOf(maxVersion))
      context.addIssue({
        code: 'custom',
        path: ['minVersion'],
        message: 'must not be newer than maxVersion',
      });
  });

const HOST = 'must be a host name or an address, without port';
/** A host with colons or brackets must be an IPv6 address. */
const isNameOrAddress = (text: string): boolean =>
  !/[:[\]]/.test(text) || isIPv6(text.replace(/^\[(.*)\]$/, '$1'));

const host = z
  .string()
  .max(255)
  .regex(/^[A-Za-z0-9]([\w.-]*[\w.])?$|^\[?[0-9A-Fa-f:.]+\]?$/, { error: HOST, abort: true })
  .refine(isNameOrAddress, { error: HOST });

/** `SSL` means TLS from the first byte in some of Cribl's files. */
const encryption = z
  .enum(['STARTTLS', 'STARTTLS_REQUIRED', 'TLS', 'NONE', 'SSL'])
  .transform(word => (word === 'SSL' ? 'TLS' : word));

const noControls = (text: string): boolean => !/\p{Cc}/u.test(text);
const CONTROLS = 'must hold neither line breaks nor other control characters';

const fields = z
  .strictObject({
    ...commonSettings,
    type: z.literal('smtp').describe('Kind of target.'),
    host: host.describe('The mail server.').meta({ destination: true }),
    port: z
      .int()
      .min(1)
      .max(65_535)
      .describe('Its port: 587, 465 or 2525 with most providers.')
      .meta({ destination: true }),
    smtpUsername: z
      .string()
      .max(1024)
      .refine(noControls, CONTROLS)
      .describe("User name; '' for a server that asks for none.")
      .meta({ aliases: ['username'] }),
    smtpPassword: secretText
      .refine(secret => noControls(secret.reveal()), CONTROLS)
      .describe("Password; '' for a server that asks for none.")
      .meta({ aliases: ['password'] }),
    from: mailAddress.describe('Address of the sender.'),
    encryptionOption: encryption
      .optional()
      .describe(
        'Without it: TLS from the start on port 465, STARTTLS on others. NONE sends passwords in clear; SSL is read as TLS.',
      )
      .meta({ protection: true }),
    tls: tls.prefault({}).describe('How certificates are judged.').meta({ protection: true }),
  })
  .superRefine(({ smtpUsername, smtpPassword }, context) => {
    const [user, password] = [isGiven(smtpUsername), isGiven(smtpPassword)];
    if (user === undefined || password === undefined || user === password) return;
    context.addIssue({
      code: 'custom',
      path: [user ? 'smtpPassword' : 'smtpUsername'],
      message: `must not be '' while ${user ? 'smtpUsername' : 'smtpPassword'} is given`,
    });
  }, EVEN_WHEN_INVALID);

/** Undefined for a setting that is absent or was refused. */
function isGiven(value: unknown): boolean | undefined {
  if (value instanceof Secret) return value.reveal() !== '';
  return typeof value === 'string' ? value !== '' : undefined;
}

export const smtpSettings = withAliases(fields);
export type SmtpSettings = z.infer<typeof fields>;
