import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';
import { AppError, codeOf } from './errors.ts';
import { stagePrivateFile, syncFolderOf } from './private-file.ts';

/** Encrypts what lies in the store. `context` says where (`table|column|row`): a text moved elsewhere does not decrypt. */
export interface KeyRing {
  /** Answers `v1.keyId.nonce.ciphertext.tag`, the parts in base64url. */
  encrypt(text: string, context: string): string;
  /** Throws `internal`, naming the key id when the ring lacks it. */
  decrypt(sealed: string, context: string): string;
  /** True when `decrypt` must fail until an operator adds a key again; false for a malformed text. */
  lacksKeyOf(sealed: string): boolean;
}

interface Key {
  readonly id: string;
  readonly bytes: Buffer;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const LARGEST_FILE_BYTES = 65_536;
const LINE = /^([A-Za-z0-9_-]{1,64}):([A-Za-z0-9+/]{43}=)$/;
const SEALED = /^v1\.([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]*)\.([A-Za-z0-9_-]{22})$/;

/**
 * Opens the key ring file: one `keyId:base64 of 32 bytes` a line; the first key encrypts, all decrypt.
 * A missing file is made when `mayCreate`, which must be true only while the store holds nothing encrypted.
 * Throws `internal` with the remedy when the file is missing, malformed, or readable by others than its owner.
 */
export async function openKeyRing(options: { path: string; mayCreate: boolean }): Promise<KeyRing> {
  const { path, mayCreate } = options;
  let text = await readRing(path);
  if (text === undefined && mayCreate) {
    await createRing(path);
    text = await readRing(path);
  }
  if (text === undefined)
    throw refusal(path, 'is missing, and the store holds secrets it encrypts; restore it from a backup');
  return ringOf(path, parseRing(path, text));
}

function ringOf(path: string, keys: readonly [Key, ...Key[]]): KeyRing {
  const [first] = keys;
  const byId = new Map(keys.map(key => [key.id, key]));
  return {
    encrypt(text, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, first.bytes, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(boundTo(context, first.id));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      const parts = [nonce, body, cipher.getAuthTag()].map(part => part.toString('base64url'));
      return ['v1', first.id, ...parts].join('.');
    },
    decrypt(sealed, context) {
      const [, id = '', nonce = '', body = '', tag = ''] = SEALED.exec(sealed) ?? [];
      if (id === '') throw new AppError('internal', `The encrypted text at ${context} is malformed`);
      const key = byId.get(id);
      if (key === undefined)
        throw refusal(path, `lacks the key '${id}' that ${context} needs; add that key's line again`);
      // Without a stated length Node accepts tags cut down to 4 bytes.
      const decipher = createDecipheriv(CIPHER, key.bytes, Buffer.from(nonce, 'base64url'), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(boundTo(context, id));
      decipher.setAuthTag(Buffer.from(tag, 'base64url'));
      try {
        return decipher.update(body, 'base64url', 'utf8') + decipher.final('utf8');
      } catch (cause) {
        const message = `The encrypted text at ${context} was changed, or the key '${id}' in ${path} is another one`;
        throw new AppError('internal', message, { cause });
      }
    },
    lacksKeyOf(sealed) {
      const [, id = ''] = SEALED.exec(sealed) ?? [];
      return id !== '' && !byId.has(id);
    },
  };
}

const boundTo = (context: string, keyId: string): Buffer => Buffer.from(`${context}|${keyId}`);

const refusal = (path: string, text: string): AppError =>
  new AppError('internal', `Key ring ${path} ${text}`);

async function readRing(path: string): Promise<string | undefined> {
  const file = await open(path, 'r').catch((cause: unknown) => {
    if (codeOf(cause) === 'ENOENT') return undefined;
    throw new AppError('internal', `Key ring ${path} cannot be opened: ${codeOf(cause)}`, { cause });
  });
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw refusal(path, 'is not a file');
    if ((stats.mode & 0o077) !== 0)
      throw refusal(path, `can be read by others than its owner; run: chmod 600 ${path}`);
    if (stats.size > LARGEST_FILE_BYTES) throw refusal(path, `is over ${LARGEST_FILE_BYTES} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** True when it was put there; `link` never replaces an existing file. */
async function placeRing(path: string, text: string): Promise<boolean> {
  try {
    const staged = await stagePrivateFile(path, text);
    try {
      await link(staged, path);
    } finally {
      await rm(staged);
    }
    await syncFolderOf(path);
    return true;
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') return false;
    throw new AppError('internal', `Key ring ${path} cannot be created: ${codeOf(cause)}`, { cause });
  }
}

/** When two processes create the ring together, both then read the winner's. */
async function createRing(path: string): Promise<void> {
  const id = randomBytes(6).toString('hex');
  await placeRing(path, `${id}:${randomBytes(KEY_BYTES).toString('base64')}\n`);
}

/** The text of the key ring file for a backup, undefined when there is none. Throws as `openKeyRing` does. */
export async function readKeyRing(path: string): Promise<string | undefined> {
  const text = await readRing(path);
  if (text !== undefined) parseRing(path, text);
  return text;
}

/**
 * Puts the key ring of a backup in its place; true when it was not there before. Throws `conflict` when another one is
 * there: what it encrypted would be lost with it.
 */
export async function restoreKeyRing(path: string, text: string): Promise<boolean> {
  parseRing(path, text);
  if (await placeRing(path, text)) return true;
  if ((await readRing(path)) === text) return false;
  throw new AppError(
    'conflict',
    `Key ring ${path} is another one than the backup's; move it away, or restore into an empty data directory`,
  );
}

/** Errors name the line only: its text may be a key. */
function parseRing(path: string, text: string): readonly [Key, ...Key[]] {
  const keys: Key[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const [, id = '', bytes = ''] = LINE.exec(line.trim()) ?? [];
    if (id === '') throw refusal(`${path}:${index + 1}`, 'is not keyId:base64 of 32 bytes');
    if (keys.some(key => key.id === id)) throw refusal(`${path}:${index + 1}`, `repeats the key id '${id}'`);
    keys.push({ id, bytes: Buffer.from(bytes, 'base64') });
  }
  const [first, ...rest] = keys;
  if (first === undefined) throw refusal(path, 'holds no key; restore it from a backup');
  return [first, ...rest];
}
