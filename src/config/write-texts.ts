import { basename, join } from 'node:path';
import { type Keeping, keepSecrets } from './keep-secrets.ts';
import type { Texts } from './load.ts';
import { childOf } from './schema-walk.ts';
import { type Staged, stageText } from './stage.ts';

export interface Writing extends Keeping {
  readonly folder: string;
  /** What the files shall read. */
  readonly texts: Texts;
  /** What they read so far. */
  readonly before: Texts;
}

/**
 * Puts secrets into the store and texts into their files, all or nothing as far as a file system lets us: everything
 * that may fail for want of space or rights is done before the first file changes. Answers the signatures that the
 * files have now, by their paths.
 */
export async function writeTexts(writing: Writing): Promise<ReadonlyMap<string, string>> {
  const { folder, texts, before } = writing;
  const staged = new Map<string, Staged>();
  const undo: (() => Promise<unknown>)[] = [];
  try {
    for (const [name, text] of Object.entries(texts)) {
      const file = join(folder, name);
      staged.set(file, await stageText(file, text));
    }
    undo.push(await keepSecrets(writing));
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
