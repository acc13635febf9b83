import { afterEach, beforeEach, expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { openTestStorage, type TestStorage } from '../../test/helpers/storage.ts';
import { credentialRow, organizationRow } from '../../test/storage/tenant-rows.ts';
import { silentLogger } from '../lib/logger.ts';
import type { CredentialRow } from '../storage/stores/credentials.ts';
import { type CredentialExpiryOptions, openCredentialExpiry } from './expiries.ts';

const READ_MS = 30_000;

let test: TestStorage;
let clock: ReturnType<typeof testClock>;

beforeEach(async () => {
  test = await openTestStorage();
  clock = testClock();
  await test.storage.transaction(async tx => {
    for (const id of ['acme', 'beta']) await tx.addOrganization(organizationRow(id));
  });
});
afterEach(() => test.close());

const open = (storage: CredentialExpiryOptions['storage'] = test.storage, workspace = 'main-acme') =>
  openCredentialExpiry({ storage, workspace, clock, logger: silentLogger });

/** A credential of `acme` that ends at `expires_at`, with a role in these workspaces. */
const add = (name: string, change: Partial<CredentialRow>, ...workspaces: string[]) =>
  test.storage.transaction(async tx => {
    const row = { ...credentialRow('acme', name), expires_at: 5, ...change };
    await tx.addCredential(row);
    await tx.setCredentialRoles(
      row.client_id,
      workspaces.map(workspace => ({ workspace, role: 'reader' })),
    );
  });

const expiry = (name: string, expiresAt = 5) => ({
  kind: 'credential',
  key: `api-credential/${name}`,
  expiresAt,
});

it('knows at once when the credentials end that have a role in the workspace', async () => {
  await add('here', {}, 'main', 'test');
  await add('there', {}, 'test');
  await add('nowhere', {});
  await add('everywhere', { organization_role: 'admin', expires_at: 4 });
  await add('theirs', { organization: 'beta', organization_role: 'owner' });
  const ends = await open();
  expect(ends.expiries()).toEqual([expiry('everywhere', 4), expiry('here')]);
  await ends.stop();
});

it('takes every credential for one that may come in where the plan has no roles', async () => {
  await add('there', {}, 'test');
  await test.storage.transaction(tx =>
    tx.updateOrganization({ ...organizationRow('acme'), role_selector: 0 }),
  );
  const ends = await open();
  expect(ends.expiries()).toEqual([expiry('there')]);
  await ends.stop();
});

it('asks the store every half minute, for a thousand at most, and what it said last counts while it says nothing', async () => {
  let rows: readonly CredentialRow[] = Array.from({ length: 600 }, (_, n) => ({
    ...credentialRow('acme', `c${n}`),
    expires_at: n,
  }));
  const asked: number[] = [];
  let isBroken = false;
  const storage: CredentialExpiryOptions['storage'] = {
    organizations: test.storage.organizations,
    credentials: {
      ...test.storage.credentials,
      async expiring(_organization, most) {
        asked.push(most);
        if (isBroken) throw new Error('the store is away');
        return rows;
      },
      async roles(ids) {
        expect(ids.length).toBeLessThanOrEqual(500);
        return ids.map(client_id => ({ client_id, workspace: 'main', role: 'reader' }));
      },
    },
  };
  const ends = await open(storage);
  for (let second = 0; second < 29; second++) {
    await clock.advance(1000);
    expect(ends.expiries()).toHaveLength(600);
  }
  expect(asked).toEqual([1000]);
  isBroken = true;
  await clock.advance(READ_MS);
  expect([asked.length, ends.expiries().length]).toEqual([2, 600]);
  isBroken = false;
  rows = [];
  await clock.advance(READ_MS);
  expect(ends.expiries()).toEqual([]);
  await ends.stop();
  await clock.advance(2 * READ_MS);
  expect(asked).toHaveLength(3);
});

it('does not begin without having been told what there is', async () => {
  const credentials = {
    ...test.storage.credentials,
    expiring: async (): Promise<never> => {
      throw new Error('the store is away');
    },
  };
  await expect(open({ ...test.storage, credentials })).rejects.toThrow('the store is away');
});
