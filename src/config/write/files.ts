import { randomBytes } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import {
  type FileHandle,
  lstat,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { AppError, codeOf, reasonOf } from '../../lib/errors.ts';
import { syncFolderOf } from '../../lib/private-file.ts';
import type { FileTexts } from '../configuration.ts';
import { childOf } from '../schema-walk.ts';
import { type SecretWrites, storeSecrets } from '../secrets/store.ts';
import { signature } from '../watch.ts';

export interface FileWrite extends SecretWrites {
  readonly folder: string;
  /** The new texts. */
  readonly texts: FileTexts;
  /** The texts before. */
  readonly before: FileTexts;
}

/**
 * Puts secrets into the store and texts into their files, all or nothing as far as a file system lets us: everything
 * that may fail for want of space or rights is done before the first file changes. Answers the signatures that the
 * files have now, by their paths.
 */
export async function writeTexts(writing: FileWrite): Promise<ReadonlyMap<string, string>> {
  const { folder, texts, before } = writing;
  const staged = new Map<string, StagedFile>();
  const undo: (() => Promise<unknown>)[] = [];
  try {
    for (const [name, text] of Object.entries(texts)) {
      const file = join(folder, name);
      staged.set(file, await stageText(file, text));
    }
    undo.push(await storeSecrets(writing));
    for (const [file, text] of staged) {
      await text.put();
      const old = childOf(before, basename(file)) ?? '';
      undo.push(async () => (await stageText(file, String(old))).put());
    }
  } catch (error) {
    for (const file of staged.values()) await file.discard().catch(() => {});
    for (const step of undo) await step().catch(() => {});
    throw error;
  }
  return new Map([...staged].map(([file, { signature }]) => [file, signature]));
}

/** A text on disk, beside the file whose place it can take. */
export interface StagedFile {
  /** The file's signature once this is in its place. */
  readonly signature: string;
  /** Replaces the file at once: a reader meets the old text or the new one. */
  put(): Promise<void>;
  discard(): Promise<void>;
}

/**
 * Writes the text beside the file, in full and on disk, with the file's mode and, where allowed, its owner. Behind a
 * symbolic link it is beside the file that the link leads to, so that the link stays.
 * Throws `configuration-read-only`, or `unavailable` when the disk is full; the file is as it was then.
 */
export async function stageText(file: string, text: string): Promise<StagedFile> {
  try {
    const path = await resolveLinks(file);
    const staged = join(dirname(path), `.${basename(file)}.${randomBytes(6).toString('hex')}.tmp`);
    try {
      const stats = await write(staged, text, await stat(path).catch(() => undefined));
      return {
        signature: signature(path, stats),
        put: () => replaceFile(staged, path, file),
        discard: () => rm(staged, { force: true }),
      };
    } catch (error) {
      await rm(staged, { force: true }).catch(() => {});
      throw error;
    }
  } catch (error) {
    throw writeError(file, error);
  }
}

async function resolveLinks(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    const isLink = await lstat(file).then(
      found => found.isSymbolicLink(),
      () => false,
    );
    // A link that leads to nothing yet: the file is made where it leads.
    return isLink
      ? resolve(dirname(file), await readlink(file))
      : join(await realpath(dirname(file)), basename(file));
  }
}

interface FileOwnership {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

async function write(path: string, text: string, ownership: FileOwnership | undefined): Promise<BigIntStats> {
  const file = await open(path, 'wx', ownership === undefined ? 0o666 : 0o600);
  try {
    await file.writeFile(text);
    if (ownership !== undefined) await copyOwnership(file, ownership);
    await file.sync();
    return await file.stat({ bigint: true });
  } finally {
    await file.close();
  }
}

async function copyOwnership(file: FileHandle, { mode, uid, gid }: FileOwnership): Promise<void> {
  // Only root may give files away; otherwise the file becomes that of the user that runs Headgate.
  await file.chown(uid, gid).catch(() => {});
  await file.chmod(mode & 0o7777);
}

async function replaceFile(staged: string, path: string, file: string): Promise<void> {
  try {
    await rename(staged, path);
  } catch (error) {
    await rm(staged, { force: true }).catch(() => {});
    throw writeError(file, error);
  }
  // It is in place; a folder that cannot be synced loses no more than a power cut would take.
  await syncFolderOf(path).catch(() => {});
}

const READ_ONLY = ['EACCES', 'EPERM', 'EROFS'];
const FULL = ['ENOSPC', 'EDQUOT'];

function writeError(file: string, cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  const name = basename(file);
  const code = codeOf(cause);
  if (READ_ONLY.includes(code))
    return new AppError(
      'configuration-read-only',
      `The folder of ${name} cannot be written; change the file where it comes from, or give Headgate the right to write there`,
      { cause },
    );
  if (code === 'EBUSY')
    return new AppError(
      'configuration-read-only',
      `${name} is mounted by itself, so that nothing can take its place; mount its folder instead`,
      { cause },
    );
  if (FULL.includes(code))
    return new AppError('unavailable', `The disk that holds ${name} is full; free some space`, {
      cause,
      retryAfterSeconds: 5,
    });
  return new AppError('unavailable', `${name} cannot be written: ${code || reasonOf(cause)}`, {
    cause,
    retryAfterSeconds: 5,
  });
}

/** Removes what a killed process left beside the files. */
export async function removeStaged(files: readonly string[]): Promise<void> {
  for (const file of files) {
    try {
      const folder = dirname(await resolveLinks(file));
      const pattern = `.${basename(file)}.`;
      for (const name of await readdir(folder))
        if (name.startsWith(pattern) && /\.[0-9a-f]{12}\.tmp$/.test(name)) await rm(join(folder, name));
    } catch {
      // What cannot be removed disturbs nobody.
    }
  }
}
