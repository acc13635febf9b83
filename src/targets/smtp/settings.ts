import { isIPv6 } from 'node:net';
import * as z from 'zod';
import { withAliases } from '../../lib/aliases.ts';
import { EVEN_WHEN_INVALID, secretText } from '../../lib/schemas.ts';
import { Secret } from '../../lib/secret.ts';
import { mailAddress } from '../recipients.ts';
import { stepLimit } from '../step-limit.ts';
import { commonSettings } from '../target.ts';
import { tlsSettingsWithTrust } from '../tls-settings.ts';
import { SMTP_TIMEOUTS, type SmtpStep } from './steps.ts';

const HOST = 'must be a host name or an address, without port';
/** A host with colons or brackets must be an IPv6 address. */
const isNameOrAddress = (text: string): boolean =>
  !/[:[\]]/.test(text) || isIPv6(text.replace(/^\[(.*)\]$/, '$1'));

const host = z
  .string()
  .max(255)
  .regex(/^[A-Za-z0-9]([\w.-]*[\w.])?$|^\[?[0-9A-Fa-f:.]+\]?$/, { error: HOST, abort: true })
  .refine(isNameOrAddress, { error: HOST });

/** A name of several parts, or an address in brackets (RFC 5321 section 4.1.3). */
const ehloName = z
  .string()
  .max(255)
  .regex(
    /^([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+|\[[0-9A-Fa-f:.]+\]|\[IPv6:[0-9A-Fa-f:.]+\])$/,
    {
      error: "must be a whole name such as 'mail.example.com', or an address in brackets",
    },
  );

const seconds = (step: SmtpStep) => stepLimit({ byDefault: SMTP_TIMEOUTS[step], most: 3600 });
const timeouts = z.strictObject({
  connect: seconds('connect').describe('Looking the name up and connecting, TLS from the start included.'),
  greeting: seconds('greeting').describe('Waiting for the greeting of the server.'),
  hello: seconds('hello').describe('Each answer to EHLO, STARTTLS and AUTH.'),
  mail: seconds('mail').describe('The answer to MAIL FROM.'),
  rcpt: seconds('rcpt').describe('The answer to each RCPT TO.'),
  data: seconds('data').describe('The answer to DATA.'),
  block: seconds('block').describe('Writing the mail.'),
  end: seconds('end').describe('The answer to the final dot, by which the server takes the mail.'),
});

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
    ehloName: ehloName
      .optional()
      .describe(
        "Name that the server is greeted with, one that it can look up. Without it the machine's name, or the address that mail is sent from where that has no domain; the address as well after the server has refused the name.",
      ),
    timeouts: timeouts
      .optional()
      .describe(
        'Time limits of the steps of a mail in seconds, or as durations such as `5m`, by default those of RFC 5321; a mail as a whole has as long as its steps together.',
      ),
    encryptionOption: encryption
      .optional()
      .describe(
        'Without it: TLS from the start on port 465, STARTTLS on others. NONE sends passwords in clear; SSL is read as TLS.',
      )
      .meta({ protection: true }),
    tls: tlsSettingsWithTrust
      .prefault({})
      .describe('How certificates are judged.')
      .meta({ protection: true })
      .meta({ protection: true }),
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
