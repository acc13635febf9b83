import * as z from 'zod';
import { secretText } from '../lib/schemas.ts';

const path = z.string().min(1).max(4096);
const version = z.enum(['TLSv1.2', 'TLSv1.3']);

/** `api.tls`: with it the API speaks https, without it http. */
export const tlsSchema = z
  .strictObject({
    certPath: path.describe(
      'File of the certificate in PEM form, then of those between it and the root. Relative to the folder of the configuration.',
    ),
    privKeyPath: path.describe('File of its private key in PEM form.'),
    passphrase: secretText.optional().describe('What the private key is encrypted with.'),
    caPath: path
      .optional()
      .describe('File of the certificates in PEM form that sign those of clients, for `requestCert`.'),
    minVersion: version.default('TLSv1.2').describe('The oldest version of TLS that is spoken.'),
    maxVersion: version.default('TLSv1.3').describe('The newest version of TLS that is spoken.'),
    requestCert: z
      .boolean()
      .default(false)
      .describe('Whether every client must show a certificate that `caPath` has signed. Needs a restart.'),
  })
  .superRefine(({ minVersion, maxVersion, requestCert, caPath }, context) => {
    if (minVersion > maxVersion)
      context.addIssue({
        code: 'custom',
        path: ['minVersion'],
        message: 'must not be newer than maxVersion',
      });
    if (requestCert && caPath === undefined)
      context.addIssue({
        code: 'custom',
        path: ['requestCert'],
        message: "needs 'caPath', the certificates that sign those of clients",
      });
  });

export type TlsSettings = z.infer<typeof tlsSchema>;
