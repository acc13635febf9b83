import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { AppError, reasonOf } from '../lib/errors.ts';
import { readFileText } from './text.ts';
import type { TlsSettings } from './tls-settings.ts';

/** A certificate and its key that were found to fit, as Node takes them. */
export interface TlsMaterial {
  readonly context: SecureContextOptions;
  /** Epoch ms until which the certificate holds. */
  readonly notAfter: number;
  /** SHA-256 of the certificate. */
  readonly fingerprint: string;
}

/** The files behind the settings, as absolute paths. */
export const tlsFiles = ({ certPath, privKeyPath, caPath }: TlsSettings, folder: string): string[] =>
  [certPath, privKeyPath, caPath].flatMap(path => (path === undefined ? [] : [resolve(folder, path)]));

/**
 * Reads the files and checks that they can be used together. Throws `invalid-request`, which names the setting and what
 * is wrong with its file, and shows nothing of what the file holds.
 */
export function readTls(settings: TlsSettings, folder: string): TlsMaterial {
  const { certPath, privKeyPath, caPath, passphrase, minVersion, maxVersion } = settings;
  const cert = pemOf('certPath', resolve(folder, certPath));
  const key = pemOf('privKeyPath', resolve(folder, privKeyPath));
  const ca = caPath === undefined ? undefined : pemOf('caPath', resolve(folder, caPath));
  const leaf = certificateOf('certPath', cert, certPath);
  if (ca !== undefined) certificateOf('caPath', ca, caPath ?? '');
  if (!leaf.checkPrivateKey(privateKeyOf(key, settings)))
    throw refusal('privKeyPath', `the key in ${privKeyPath} is not that of the certificate in ${certPath}`);
  const context = {
    cert,
    key,
    minVersion,
    maxVersion,
    ...(ca !== undefined && { ca }),
    ...(passphrase !== undefined && { passphrase: passphrase.reveal() }),
  };
  try {
    createSecureContext(context);
  } catch (error) {
    throw refusal('certPath', `${certPath} cannot be used: ${reasonOf(error)}`);
  }
  return { context, notAfter: Date.parse(leaf.validTo), fingerprint: leaf.fingerprint256 };
}

type Setting = 'certPath' | 'privKeyPath' | 'caPath' | 'passphrase';

function refusal(setting: Setting, message: string): AppError {
  const path = `api.tls.${setting}`;
  return new AppError('invalid-request', `${path}: ${message}`, { problems: [{ path, message }] });
}

function pemOf(setting: Setting, path: string): string {
  const file = readFileText(path);
  if (file.kind === 'text') return file.text;
  throw refusal(setting, file.kind === 'missing' ? `there is no file ${path}` : `${path} ${file.message}`);
}

function certificateOf(setting: Setting, pem: string, path: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw refusal(setting, `${path} does not begin with a certificate in PEM form`);
  }
}

function privateKeyOf(key: string, { passphrase, privKeyPath }: TlsSettings): KeyObject {
  try {
    return createPrivateKey(passphrase === undefined ? key : { key, passphrase: passphrase.reveal() });
  } catch {
    if (!/^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(key))
      throw refusal('privKeyPath', `${privKeyPath} holds no private key in PEM form`);
    throw passphrase === undefined
      ? refusal('passphrase', `is required, as the key in ${privKeyPath} is encrypted`)
      : refusal('passphrase', `does not open the key in ${privKeyPath}`);
  }
}
