import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { AppError } from '../lib/errors.ts';
import type { Secret } from '../lib/secret.ts';
import { readFileText } from './text.ts';

/** Settings that name files in PEM form. */
export interface PemSettings {
  readonly certPath?: string | undefined;
  readonly privKeyPath?: string | undefined;
  readonly caPath?: string | undefined;
  readonly passphrase?: Secret | undefined;
}

/** What the files hold, found to fit together. */
export interface Pem {
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly passphrase?: string;
  /** The certificate of `cert` itself. */
  readonly leaf?: X509Certificate;
}

/** Where the settings stand, and what their paths are relative to. */
export interface PemPlace {
  /** `api.tls` */
  readonly path: string;
  readonly folder: string;
}

type Setting = keyof PemSettings;

/** The files behind the settings, as absolute paths. */
export const pemFiles = ({ certPath, privKeyPath, caPath }: PemSettings, folder: string): string[] =>
  [certPath, privKeyPath, caPath].flatMap(path => (path === undefined ? [] : [resolve(folder, path)]));

/**
 * Reads the files that are named. Throws `invalid-request`, which names the setting and what is wrong with its file, and
 * shows nothing of what the file holds.
 */
export function readPem(settings: PemSettings, place: PemPlace): Pem {
  const { certPath, privKeyPath, caPath, passphrase } = settings;
  const cert = textOf('certPath', certPath, place);
  const key = textOf('privKeyPath', privKeyPath, place);
  const ca = textOf('caPath', caPath, place);
  const leaf = cert === undefined ? undefined : certificateOf('certPath', cert, certPath, place);
  if (ca !== undefined) certificateOf('caPath', ca, caPath, place);
  if (key !== undefined && !leaf?.checkPrivateKey(privateKeyOf(key, settings, place)))
    throw refusal(
      place,
      'privKeyPath',
      `the key in ${privKeyPath} is not that of the certificate in ${certPath}`,
    );
  return {
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(ca !== undefined && { ca }),
    ...(leaf !== undefined && { leaf }),
    ...(passphrase !== undefined && { passphrase: passphrase.reveal() }),
  };
}

/** The error of a setting. */
export function refusal({ path: parent }: PemPlace, setting: Setting, message: string): AppError {
  const path = `${parent}.${setting}`;
  return new AppError('invalid-request', `${path}: ${message}`, { problems: [{ path, message }] });
}

function textOf(setting: Setting, named: string | undefined, place: PemPlace): string | undefined {
  if (named === undefined) return undefined;
  const path = resolve(place.folder, named);
  const file = readFileText(path);
  if (file.kind === 'text') return file.text;
  const why = file.kind === 'missing' ? `there is no file ${path}` : `${path} ${file.message}`;
  throw refusal(place, setting, why);
}

function certificateOf(
  setting: Setting,
  pem: string,
  path: string | undefined,
  place: PemPlace,
): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw refusal(place, setting, `${path} does not begin with a certificate in PEM form`);
  }
}

function privateKeyOf(key: string, { passphrase, privKeyPath }: PemSettings, place: PemPlace): KeyObject {
  try {
    return createPrivateKey(passphrase === undefined ? key : { key, passphrase: passphrase.reveal() });
  } catch {
    if (!/^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(key))
      throw refusal(place, 'privKeyPath', `${privKeyPath} holds no private key in PEM form`);
    throw passphrase === undefined
      ? refusal(place, 'passphrase', `is required, as the key in ${privKeyPath} is encrypted`)
      : refusal(place, 'passphrase', `does not open the key in ${privKeyPath}`);
  }
}
