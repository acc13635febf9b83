import { basename, join } from 'node:path';
import { AppError } from '../lib/errors.ts';
import type { NewSecret } from './change.ts';
import type { Texts } from './load.ts';
import { childOf } from './schema-walk.ts';
import type { SecretStore } from './secret-store.ts';
import { type Staged, stageText } from './stage.ts';

/** What keeps secrets that are written. */
export type SecretKeeper = Pick<SecretStore, 'get' | 'put' | 'remove'>;

export interface Writing {
  readonly folder: string;
  /** What the files shall read. */
  readonly texts: Texts;
  /** What they read so far. */
  readonly before: Texts;
  readonly secrets: readonly NewSecret[];
  readonly author: string;
  readonly keeper: SecretKeeper | undefined;
}

/**
 * Puts secrets into the store and texts into their files, all or nothing as far as a file system lets us: everything
 * that may fail for want of space or rights is done before the first file changes. Answers the signatures that the
 * files have now, by their paths.
 */
export async function writeTexts(writing: Writing): Promise<ReadonlyMap<string, string>> {
  const { folder, texts, before, secrets, author, keeper } = writing;
  if (secrets.length > 0 && keeper === undefined)
    throw new AppError('unavailable', 'Secrets cannot be stored here; run the server');
  const staged = new Map<string, Staged>();
  const undo: (() => Promise<unknown>)[] = [];
  try {
    for (const [name, text] of Object.entries(texts)) {
      const file = join(folder, name);
      staged.set(file, await stageText(file, text));
    }
    for (const { name, value } of secrets) {
      const present = keeper?.get(name);
      await keeper?.put(name, value, author);
      undo.push(async () =>
        present === undefined ? keeper?.remove(name) : keeper?.put(name, present, author),
      );
    }
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
