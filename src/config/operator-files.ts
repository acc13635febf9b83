import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import { AppError, reasonOf } from '../lib/errors.ts';
import type { ClientTls } from '../lib/http/tunnel.ts';
import { parseJson } from '../lib/json.ts';
import type { Secret } from '../lib/secret.ts';
import type { DataFile, OperatorFiles, ScrapeTlsSettings } from '../pipelines/settings.ts';
import { readFileText, withoutByteOrderMark } from './file-text.ts';
import type { ApiTlsSettings } from './settings.ts';
import { isSameFiles, type Signatures, signaturesOf, watchFiles } from './watch.ts';
import { readYaml } from './yaml/parse.ts';

interface Options {
  /** Paths are relative to it. */
  readonly folder: string;
  readonly clock: Pick<Clock, 'after'>;
}

/** The files that settings of pipelines name. They count as they are now, and never stop a configuration. */
export function createOperatorFiles({ folder, clock }: Options): OperatorFiles {
  return {
    tls: tlsReader(folder),
    watch(paths, take) {
      const files = paths.map(path => resolve(folder, path));
      let seen = signaturesOf(files);
      const read = (): void => {
        seen = signaturesOf(files);
        take(new Map(paths.map(path => [path, readDataFile(path, folder)])));
      };
      const within = (place: string): Signatures =>
        new Map([...seen].filter(([file]) => dirname(file) === place));
      read();
      const cancels = [...new Set(files.map(dirname))].map(place =>
        watchFiles({ folder: place, seen: () => within(place), clock, changed: read }),
      );
      return () => {
        for (const cancel of cancels) cancel();
      };
    },
  };
}

const NONE = 'files cannot be named here';

/** For workspaces whose settings may name no file: should one be named all the same, none is read. */
export const NO_OPERATOR_FILES: OperatorFiles = {
  tls: () => ({ tls: undefined, fault: NONE }),
  watch(paths, take) {
    take(new Map(paths.map(path => [path, { error: NONE }])));
    return () => {};
  },
};

/** Reads files of `tls` again when they change. A pair of which only one half was replaced so far leaves the one of before. */
function tlsReader(folder: string): OperatorFiles['tls'] {
  const known = new WeakMap<
    ScrapeTlsSettings,
    { seen: Signatures; tls: ClientTls | undefined; fault: string | undefined }
  >();
  return settings => {
    const before = known.get(settings);
    const seen = signaturesOf(pemFiles(settings, folder));
    if (before !== undefined && isSameFiles(before.seen, seen)) return before;
    const read = { seen, ...readClientTls(settings, folder) };
    const now = { ...read, tls: read.tls ?? before?.tls };
    known.set(settings, now);
    return now;
  };
}

/** The certificates that the settings show and trust, or what is wrong with their files. */
export function readClientTls(
  settings: ScrapeTlsSettings,
  folder: string,
): { readonly tls: ClientTls | undefined; readonly fault: string | undefined } {
  try {
    const { leaf: _, ...pem } = readPem(settings, { path: 'tls', folder });
    const fingerprint = createHash('sha256').update(JSON.stringify(pem)).digest('hex');
    return { tls: { ...pem, fingerprint }, fault: undefined };
  } catch (error) {
    return { tls: undefined, fault: reasonOf(error) };
  }
}

/** A certificate and its key that were found to fit, as Node takes them. */
export interface TlsMaterial {
  readonly context: SecureContextOptions;
  /** Epoch ms until which the certificate holds. */
  readonly notAfter: number;
  /** SHA-256 of the certificate. */
  readonly fingerprint: string;
}

/** The files behind the settings, as absolute paths. */
export const tlsFiles = (settings: ApiTlsSettings, folder: string): string[] => pemFiles(settings, folder);

/**
 * Reads the files and checks that they can be used together. Throws `invalid-request`, which names the setting and what
 * is wrong with its file, and shows nothing of what the file holds.
 */
export function readTls(settings: ApiTlsSettings, folder: string): TlsMaterial {
  const place = { path: 'api.tls', folder };
  const { leaf, ...pem } = readPem(settings, place);
  const { minVersion, maxVersion, certPath } = settings;
  const context = { ...pem, minVersion, maxVersion };
  try {
    createSecureContext(context);
  } catch (error) {
    throw pemError(place, 'certPath', `${certPath} cannot be used: ${reasonOf(error)}`);
  }
  return {
    context,
    notAfter: Date.parse(leaf?.validTo ?? ''),
    fingerprint: leaf?.fingerprint256 ?? '',
  };
}

/** Settings that name files in PEM form. */
interface PemSettings {
  readonly certPath?: string | undefined;
  readonly privKeyPath?: string | undefined;
  readonly caPath?: string | undefined;
  readonly passphrase?: Secret | undefined;
}

/** The content of the files, checked to fit together. */
interface Pem {
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly passphrase?: string;
  /** The certificate of `cert` itself. */
  readonly leaf?: X509Certificate;
}

/** Where the settings stand, and what their paths are relative to. */
interface PemPlace {
  /** `api.tls` */
  readonly path: string;
  readonly folder: string;
}

type PemSetting = keyof PemSettings;

/** The files behind the settings, as absolute paths. */
const pemFiles = ({ certPath, privKeyPath, caPath }: PemSettings, folder: string): string[] =>
  [certPath, privKeyPath, caPath].flatMap(path => (path === undefined ? [] : [resolve(folder, path)]));

/**
 * Reads the files that are named. Throws `invalid-request`, which names the setting and what is wrong with its file, and
 * shows nothing of what the file holds.
 */
function readPem(settings: PemSettings, place: PemPlace): Pem {
  const { certPath, privKeyPath, caPath, passphrase } = settings;
  const cert = textOf('certPath', certPath, place);
  const key = textOf('privKeyPath', privKeyPath, place);
  const ca = textOf('caPath', caPath, place);
  const leaf = cert === undefined ? undefined : certificateOf('certPath', cert, certPath, place);
  if (ca !== undefined) certificateOf('caPath', ca, caPath, place);
  if (key !== undefined && !leaf?.checkPrivateKey(privateKeyOf(key, settings, place)))
    throw pemError(
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
function pemError({ path: parent }: PemPlace, setting: PemSetting, message: string): AppError {
  const path = `${parent}.${setting}`;
  return new AppError('invalid-request', `${path}: ${message}`, { problems: [{ path, message }] });
}

function textOf(setting: PemSetting, named: string | undefined, place: PemPlace): string | undefined {
  if (named === undefined) return undefined;
  const path = resolve(place.folder, named);
  const file = readFileText(path);
  if (file.kind === 'text') return file.text;
  const why = file.kind === 'missing' ? `there is no file ${path}` : `${path} ${file.message}`;
  throw pemError(place, setting, why);
}

function certificateOf(
  setting: PemSetting,
  pem: string,
  path: string | undefined,
  place: PemPlace,
): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw pemError(place, setting, `${path} does not begin with a certificate in PEM form`);
  }
}

function privateKeyOf(key: string, { passphrase, privKeyPath }: PemSettings, place: PemPlace): KeyObject {
  try {
    return createPrivateKey(passphrase === undefined ? key : { key, passphrase: passphrase.reveal() });
  } catch {
    if (!/^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(key))
      throw pemError(place, 'privKeyPath', `${privKeyPath} holds no private key in PEM form`);
    throw passphrase === undefined
      ? pemError(place, 'passphrase', `is required, as the key in ${privKeyPath} is encrypted`)
      : pemError(place, 'passphrase', `does not open the key in ${privKeyPath}`);
  }
}

/** Lists that programs write are read on the thread that does everything else. */
const MOST_BYTES = 2 * 1024 * 1024;

/** Reads a file that belongs to nobody's settings: JSON where its name says so, else YAML. Never throws. */
export function readDataFile(path: string, folder: string): DataFile {
  const file = readFileText(resolve(folder, path));
  if (file.kind === 'missing') return { error: 'there is no such file' };
  if (file.kind === 'unreadable') return { error: file.message };
  if (Buffer.byteLength(file.text) > MOST_BYTES)
    return { error: `is over the ${MOST_BYTES} bytes that are read of it` };
  const text = withoutByteOrderMark(file.text);
  return path.toLowerCase().endsWith('.json') ? readJsonText(text) : readYamlText(text);
}

function readJsonText(text: string): DataFile {
  if (text.trim() === '') return { value: undefined };
  try {
    return { value: parseJson(text) };
  } catch (error) {
    return { error: reasonOf(error).replace(/^The body/, 'it') };
  }
}

function readYamlText(text: string): DataFile {
  const { document, problems } = readYaml(text);
  const [problem] = problems;
  if (problem !== undefined) return { error: `line ${problem.line}: ${problem.message}` };
  return { value: document?.value };
}
