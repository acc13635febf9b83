import { AppError } from '../lib/errors.ts';
import type { NewSecret } from './change.ts';
import type { SecretStore } from './secret-store.ts';

/** What keeps secrets that are written. */
export type SecretKeeper = Pick<SecretStore, 'get' | 'put' | 'remove'>;

export interface Keeping {
  readonly secrets: readonly NewSecret[];
  readonly author: string;
  readonly keeper: SecretKeeper | undefined;
}

/**
 * Stores the secrets of a change, one after the other. Answers what takes them back; when one cannot be stored, those
 * before it are taken back.
 */
export async function keepSecrets({ secrets, author, keeper }: Keeping): Promise<() => Promise<void>> {
  if (secrets.length > 0 && keeper === undefined)
    throw new AppError('unavailable', 'Secrets cannot be stored here; run the server');
  const undo: (() => Promise<unknown>)[] = [];
  async function takeBack(): Promise<void> {
    for (const step of undo) await step().catch(() => {});
  }
  try {
    for (const { name, value } of secrets) {
      const present = keeper?.get(name);
      await keeper?.put(name, value, author);
      undo.push(async () =>
        present === undefined ? keeper?.remove(name) : keeper?.put(name, present, author),
      );
    }
  } catch (error) {
    await takeBack();
    throw error;
  }
  return takeBack;
}
