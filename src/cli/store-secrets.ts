import type { Schemas } from '@headgate/client';
import { wireSecret } from '../api/v1/secrets.ts';
import { ConfigurationInvalid } from '../app/configuration-invalid.ts';
import { loadConfiguration } from '../config/load.ts';
import { assertUnused } from '../config/secrets/references.ts';
import { metadataOf, secretWriter } from '../config/secrets/store.ts';
import { systemClock } from '../lib/clock.ts';
import { notFound } from '../lib/errors.ts';
import { type Folders, systemUser, withStore } from './store.ts';

type Secret = Schemas['Secret'];

/** Holds secrets: a server, or the store itself while no server uses it. */
export interface SecretsBackend {
  set(name: string, value: string): Promise<Secret>;
  list(): Promise<readonly Secret[]>;
  /** Refused while the configuration refers to it. */
  remove(name: string): Promise<Secret>;
}

export const storeSecrets = (folders: Folders): SecretsBackend => ({
  set: (name, value) =>
    withStore({ ...folders, mayCreate: true }, async ({ storage, workspace, openKeyRing }) => {
      const keyRing = await openKeyRing();
      const writer = secretWriter({ storage, workspace, keyRing, clock: systemClock });
      return wireSecret(await writer.put(name, value, systemUser()));
    }),
  async list() {
    const rows = await withStore({ ...folders, mayCreate: false }, ({ storage, workspace }) =>
      storage.in(workspace).secrets.list(),
    );
    return rows.map(row => wireSecret(metadataOf(row)));
  },
  async remove(name) {
    const sources = { folder: folders.config, environment: process.env, flags: {} };
    const loaded = loadConfiguration(sources, systemClock);
    if (!loaded.ok) throw new ConfigurationInvalid(loaded.problems);
    assertUnused(loaded.configuration.raw, name);
    return withStore({ ...folders, mayCreate: false }, async ({ storage, workspace }) => {
      const rows = await storage.in(workspace).secrets.list();
      const row = rows.find(one => one.name === name);
      if (row === undefined) throw notFound('secret', name);
      await storage.transaction(tx => tx.in(workspace).removeSecret(name));
      return wireSecret(metadataOf(row));
    });
  },
});
