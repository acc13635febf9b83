import * as z from 'zod';
import type { Clock } from '../lib/clock.ts';
import type { KeyRing } from '../lib/keyring.ts';
import type { Storage } from '../storage/storage.ts';
import { FILES, type FileName, type Texts } from './load.ts';

/** The configuration of a workspace that has no files, as the store holds it. */
export interface WorkspaceDocument {
  /** One more with each change; 0 while nothing was ever written. */
  readonly revision: number;
  /** Every file of a configuration, '' for one that holds nothing. */
  readonly texts: Readonly<Record<FileName, string>>;
}

export interface DocumentKeeper {
  read(): Promise<WorkspaceDocument>;
  /** Throws `conflict` unless its revision is the next one. */
  write(document: WorkspaceDocument): Promise<void>;
}

const content = z.partialRecord(z.enum(FILES), z.string());

export function documentKeeper({
  storage,
  workspace,
  keyRing,
  clock,
}: {
  readonly storage: Pick<Storage, 'in' | 'transaction'>;
  readonly workspace: string;
  readonly keyRing: KeyRing;
  readonly clock: Pick<Clock, 'now'>;
}): DocumentKeeper {
  const place = `config_documents|sealed|${workspace}`;
  return {
    async read() {
      const row = await storage.in(workspace).document.get();
      if (row === undefined) return { revision: 0, texts: allOf({}) };
      const texts = content.parse(JSON.parse(keyRing.decrypt(row.sealed, place)));
      return { revision: row.revision, texts: allOf(texts) };
    },
    async write({ revision, texts }) {
      const sealed = keyRing.encrypt(JSON.stringify(texts), place);
      await storage.transaction(tx =>
        tx.in(workspace).putDocument({ revision, sealed, updated_at: clock.now() }),
      );
    },
  };
}

export const allOf = (texts: Texts): WorkspaceDocument['texts'] => ({
  'headgate.yml': texts['headgate.yml'] ?? '',
  'notifications.yml': texts['notifications.yml'] ?? '',
  'inputs.yml': texts['inputs.yml'] ?? '',
  'outputs.yml': texts['outputs.yml'] ?? '',
});
