import { createHash, X509Certificate } from 'node:crypto';
import { createSecureContext, rootCertificates, type SecureContextOptions } from 'node:tls';
import * as z from 'zod';
import type { ClientTls } from '../lib/http/tunnel.ts';
import { EVEN_WHEN_INVALID, secretText } from '../lib/schemas.ts';

const TLS_VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const;
const tlsVersion = z.enum(TLS_VERSIONS).optional();

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const MOST_CHARACTERS = 256 * 1024;

function areCertificates(text: string): boolean {
  const found = text.match(PEM) ?? [];
  try {
    return found.length > 0 && found.every(one => new X509Certificate(one).serialNumber !== '');
  } catch {
    return false;
  }
}

const certificates = z.string().max(MOST_CHARACTERS).refine(areCertificates, {
  error: 'must be certificates as PEM, each from BEGIN CERTIFICATE to END CERTIFICATE',
});

const key = secretText.refine(
  secret =>
    secret.reveal().length <= MOST_CHARACTERS && /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(secret.reveal()),
  { error: 'must be a private key as PEM, from BEGIN PRIVATE KEY to END PRIVATE KEY' },
);

const fields = {
  minVersion: tlsVersion.describe('Oldest version of TLS that is spoken.').meta({ protection: true }),
  maxVersion: tlsVersion.describe('Newest version of TLS that is spoken.').meta({ protection: true }),
  ca: certificates
    .optional()
    .describe('Certificates of your own authority as PEM, beside the known ones: `${file:/path}`.')
    .meta({ protection: true }),
  cert: certificates
    .optional()
    .describe('Certificate that is shown to the server as PEM, those between it and its authority after it.'),
  key: key.optional().describe('Private key of `cert` as PEM.'),
  passphrase: secretText.optional().describe('Passphrase of `key`, where that is encrypted.'),
};

const withoutRules = z.strictObject(fields);
type TlsSettings = z.infer<typeof withoutRules>;

function checkTls(settings: TlsSettings, context: z.RefinementCtx<TlsSettings>): void {
  const report = (name: keyof TlsSettings, message: string): void =>
    context.addIssue({ code: 'custom', path: [name], message });
  const { minVersion, maxVersion, cert, key, passphrase } = settings;
  const at = (version: (typeof TLS_VERSIONS)[number]): number => TLS_VERSIONS.indexOf(version);
  if (minVersion !== undefined && maxVersion !== undefined && at(minVersion) > at(maxVersion))
    report('minVersion', 'must not be newer than maxVersion');
  if (cert !== undefined && key === undefined) report('key', "is required with 'cert'");
  if (cert === undefined && key !== undefined) report('cert', "is required with 'key'");
  if (passphrase !== undefined && key === undefined) report('key', "is required with 'passphrase'");
  if (typeof cert !== 'string' || typeof key?.reveal !== 'function') return;
  try {
    createSecureContext({ cert, key: key.reveal(), passphrase: passphrase?.reveal() });
  } catch {
    report('key', 'cannot be used with cert: another key belongs to it, or passphrase is missing or wrong');
  }
}

/** How TLS is spoken with the server of a target. */
export const tlsSettings = withoutRules.superRefine(checkTls, EVEN_WHEN_INVALID);

/** The same with whether certificates are judged at all. */
export const tlsSettingsWithTrust = z
  .strictObject({
    rejectUnauthorized: z
      .boolean()
      .default(true)
      .describe('Refuse certificates that nobody vouches for.')
      .meta({ protection: true }),
    ...fields,
  })
  .superRefine(checkTls, EVEN_WHEN_INVALID);

/** Options of a connection; empty where nothing is set. */
export function tlsOptionsOf({ minVersion, maxVersion, ca, cert, key, passphrase }: TlsSettings) {
  const isOld = [minVersion, maxVersion].some(version => version === 'TLSv1' || version === 'TLSv1.1');
  const oldest = minVersion ?? (isOld ? maxVersion : undefined);
  return {
    ...(oldest !== undefined && { minVersion: oldest }),
    ...(maxVersion !== undefined && { maxVersion }),
    ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key: key.reveal() }),
    ...(passphrase !== undefined && { passphrase: passphrase.reveal() }),
    // Old versions are requested on purpose: their signatures are refused otherwise.
    ...(isOld && { ciphers: 'DEFAULT@SECLEVEL=0' }),
  } satisfies SecureContextOptions;
}

const known = new WeakMap<TlsSettings, ClientTls>();

/** The same for requests, whose connections are shared by those that speak TLS alike. */
export function clientTlsOf(settings: TlsSettings): ClientTls {
  const found = known.get(settings);
  if (found !== undefined) return found;
  const options = tlsOptionsOf(settings);
  const fingerprint = createHash('sha256').update(JSON.stringify(options)).digest('hex');
  const tls = { ...options, fingerprint };
  known.set(settings, tls);
  return tls;
}
