import { wireSecret } from '../api/wire/secret.ts';
import { ConfigurationInvalid } from '../app/invalid.ts';
import { loadConfiguration } from '../config/load.ts';
import { assertUnused } from '../config/secret-references.ts';
import { factsOf, secretWriter } from '../config/secret-writer.ts';
import { systemClock } from '../lib/clock.ts';
import { notFound } from '../lib/errors.ts';
import { type Folders, withStore } from './offline.ts';
import type { SecretsKept } from './secrets-kept.ts';
import { whoRuns } from './who-runs.ts';

export const keptInStore = (folders: Folders): SecretsKept => ({
  set: (name, value) =>
    withStore({ ...folders, mayCreate: true }, async ({ storage, workspace, openKeyRing }) => {
      const keyRing = await openKeyRing();
      const writer = secretWriter({ storage, workspace, keyRing, clock: systemClock });
      return wireSecret(await writer.put(name, value, whoRuns()));
    }),
  async list() {
    const rows = await withStore({ ...folders, mayCreate: false }, ({ storage, workspace }) =>
      storage.in(workspace).secrets.list(),
    );
    return rows.map(row => wireSecret(factsOf(row)));
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
      return wireSecret(factsOf(row));
    });
  },
});
