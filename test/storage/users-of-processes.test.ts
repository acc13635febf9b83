import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createIdentity, type Identity } from '../../src/auth/identity.ts';
import { authSchema } from '../../src/auth/settings.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { monotonicIds } from '../../src/lib/ids.ts';
import { openKeyRing } from '../../src/lib/keyring.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { Secret } from '../../src/lib/secret.ts';
import { openStorage } from '../../src/storage/open.ts';
import { notedAudit } from '../helpers/audit.ts';
import { noHttp } from '../helpers/no-http.ts';
import { createPostgresDatabase } from '../helpers/postgres.ts';

const PASSWORD = 'violet-giraffes-mend-9-clocks';
const undo: (() => unknown)[] = [];
let one: Identity;
let other: Identity;

beforeEach(async () => {
  const database = await createPostgresDatabase();
  undo.push(database.remove);
  const folder = await mkdtemp(join(tmpdir(), 'headgate-users-'));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  const start = async (): Promise<Identity> => {
    const storage = await openStorage({
      url: database.url,
      dataFolder: folder,
      logger: silentLogger,
      clock: systemClock,
    });
    undo.push(() => storage.close());
    const identity = await createIdentity({
      storage,
      keyRing: await openKeyRing({
        path: join(folder, 'keys'),
        mayCreate: !(await storage.hasSealedValues()),
      }),
      clock: systemClock,
      ids: monotonicIds(systemClock),
      logger: silentLogger,
      http: noHttp,
      audit: notedAudit(),
      isShared: true,
      settings: () => ({
        authTokenTTL: 60,
        idleSessionTTL: 3600,
        loginRateLimit: { count: 100, perMs: 1000 },
        loginBackOff: { after: 5, longestMs: 60_000 },
        auth: authSchema.parse({}),
        externalUrl: undefined,
      }),
    });
    undo.push(identity.stop);
    return identity;
  };
  one = await start();
  other = await start();
  await one.ensureFirstAdmin({ password: new Secret(PASSWORD), dataFolder: folder });
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const add = (username: string) =>
  one.users.create({
    username,
    password: PASSWORD,
    role: 'admin',
    disabled: false,
    kind: 'person',
    mustChangePassword: false,
  });

describe('two processes on one database', () => {
  it('both refuse a token once its user is disabled, before the change is answered', async () => {
    await add('ann');
    const { token } = await one.login({ username: 'ann', password: PASSWORD, address: '192.0.2.1' });
    await expect(other.authenticate(token)).resolves.toMatchObject({ name: 'ann' });
    await one.users.update('ann', { disabled: true });
    for (const process of [one, other])
      await expect(process.authenticate(token)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('both refuse a token that was given back to one of them', async () => {
    const { token } = await one.login({ username: 'admin', password: PASSWORD, address: '192.0.2.1' });
    await other.authenticate(token);
    await one.users.logout(await one.authenticate(token));
    for (const process of [one, other])
      await expect(process.authenticate(token)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('both refuse what a compromised key signed, before the change is answered', async () => {
    const { token } = await one.login({ username: 'admin', password: PASSWORD, address: '192.0.2.1' });
    await other.authenticate(token);
    await one.keys.rotate({ isCompromised: true });
    for (const process of [one, other])
      await expect(process.authenticate(token)).rejects.toMatchObject({ code: 'unauthenticated' });
    const { token: fresh } = await one.login({ username: 'admin', password: PASSWORD, address: '192.0.2.1' });
    await expect(other.authenticate(fresh)).resolves.toMatchObject({ name: 'admin' });
  });

  it('take at once what the other has signed with a key that was never published before', async () => {
    await one.keys.rotate({ isCompromised: false, algorithm: 'ES256' });
    const { token } = await one.login({ username: 'admin', password: PASSWORD, address: '192.0.2.1' });
    await expect(other.authenticate(token)).resolves.toMatchObject({ name: 'admin' });
  });

  it('leave one admin when each takes the right of the other’s at the same moment', async () => {
    for (let round = 0; round < 3; round++) {
      const name = `admin${round}`;
      await add(name);
      const results = await Promise.allSettled([
        one.users.update('admin', { role: 'reader' }),
        other.users.remove(name),
      ]);
      const refused = results.filter(result => result.status === 'rejected');
      expect(refused).toHaveLength(1);
      expect(refused[0]).toMatchObject({ reason: { code: 'conflict' } });
      if (results[0].status === 'rejected') continue;
      await one.users.update('admin', { role: 'admin' });
      await one.users.remove(name);
    }
  });
});
