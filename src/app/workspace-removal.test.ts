import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { openTestStorage, type TestStorage } from '../../test/helpers/storage.ts';
import { until } from '../../test/helpers/until.ts';
import { organizationRow, workspaceRow } from '../../test/storage/tenant-rows.ts';
import { silentLogger } from '../lib/logger.ts';
import { createWorkspaceRemoval, type RemovalOptions } from './sweeps.ts';

const START = Date.UTC(2026, 0, 1);
/** Roles are of an organization, and go with the workspace at once. */
const OF_ORGANIZATIONS = ['member_roles', 'credential_roles'];
const ROWS = 600;

let store: TestStorage;
let database: Sqlite.Database;
let stop: (() => Promise<void>) | undefined;
beforeEach(async () => {
  store = await openTestStorage();
  database = new Sqlite(join(store.folder, 'headgate.db'));
  database.pragma('foreign_keys = off');
});
afterEach(async () => {
  await stop?.();
  stop = undefined;
  database.close();
  await store.close();
});

interface Column {
  readonly name: string;
  readonly type: string;
}

/** Every table that has something of workspaces. */
function workspaceTables(): readonly (readonly [string, readonly Column[]])[] {
  const names = database
    .prepare<[], { name: string }>("select name from sqlite_master where type = 'table'")
    .all()
    .map(({ name }) => name)
    .filter(name => !OF_ORGANIZATIONS.includes(name));
  return names
    .map(name => [name, database.prepare<[], Column>(`pragma table_info("${name}")`).all()] as const)
    .filter(([, columns]) => columns.some(({ name }) => name === 'workspace'));
}

/** As many rows as a table takes, of which no two are alike. */
function fill(workspace: string): void {
  for (const [table, columns] of workspaceTables()) {
    const names = columns.map(({ name }) => `"${name}"`).join(', ');
    const insert = database.prepare(
      `insert or ignore into "${table}" (${names}) values (${columns.map(() => '?').join(', ')})`,
    );
    const cellOf = ({ name, type }: Column, number: number): string | number | Buffer => {
      if (name === 'workspace') return workspace;
      if (/blob/i.test(type)) return Buffer.from([number % 250]);
      return /int|real|numeric|double/i.test(type) ? number : `text ${number} of ${workspace}`;
    };
    database.transaction(() => {
      for (let number = 1; number <= ROWS; number++)
        insert.run(columns.map(column => cellOf(column, number)));
    })();
  }
}

/** Tables with something of the workspace. */
const tablesOf = (workspace: string): readonly string[] =>
  workspaceTables().flatMap(([table]) => {
    const found = database.prepare<[string]>(`select 1 from "${table}" where workspace = ?`).get(workspace);
    return found === undefined ? [] : [table];
  });

async function removedWorkspace(more: Partial<RemovalOptions> = {}) {
  const clock = testClock(START);
  const { storage } = store;
  await storage.transaction(async tx => {
    for (const organization of ['acme', 'corp']) {
      await tx.addOrganization(organizationRow(organization));
      await tx.addWorkspace(workspaceRow(organization, 'main'));
    }
  });
  const all = workspaceTables().map(([name]) => name);
  for (const workspace of ['main-acme', 'main-corp']) {
    fill(workspace);
    expect(tablesOf(workspace)).toEqual(all);
  }
  const folders: string[] = [];
  const removal = createWorkspaceRemoval({
    ...{ storage, clock, logger: silentLogger, owner: 'removal' },
    keyOf: ({ organization, id }) => `${id}-${organization}`,
    leaseOf: key => `engine:${key}`,
    removeFiles: async key => void folders.push(key),
    ...more,
  });
  removal.start();
  stop = () => removal.stop();
  await storage.transaction(tx => tx.removeWorkspace('acme', 'main', clock.now()));
  return { clock, storage, all, folders };
}

it('removes all that a removed workspace has kept, in every table, and nothing of others', async () => {
  const { clock, storage, all, folders } = await removedWorkspace();
  expect(await storage.organizations.workspace('acme', 'main')).toBeUndefined();
  expect((await storage.organizations.allWorkspaces()).map(({ organization }) => organization)).toEqual([
    'corp',
  ]);
  // Whatever has just led it may still write.
  await clock.advance(59_000);
  expect(tablesOf('main-acme')).toEqual(all);
  await until(async () => {
    await clock.advance(1000);
    return tablesOf('main-acme').length === 0;
  }, 'nothing of it is left');
  expect(tablesOf('main-corp')).toEqual(all);
  expect(new Set(folders)).toEqual(new Set(['main-acme']));
  const again = () => storage.transaction(tx => tx.addWorkspace(workspaceRow('acme', 'main')));
  await expect(again()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('free again'),
  });
  await until(async () => {
    await clock.advance(30_000);
    return (await storage.organizations.removedWorkspaces()).length === 0;
  }, 'the id is free');
  await again();
  expect(tablesOf('main-acme')).toEqual([]);
});

it('leaves alone what a process still leads', async () => {
  let asked = 0;
  const leases: RemovalOptions['storage']['leases'] = {
    ...store.storage.leases,
    async take() {
      asked++;
      return undefined;
    },
  };
  const { clock, storage, all } = await removedWorkspace({ storage: { ...store.storage, leases } });
  await until(async () => {
    await clock.advance(60_000);
    return asked > 12;
  }, 'the lease is asked for again and again');
  expect(tablesOf('main-acme')).toEqual(all);
  expect(await storage.organizations.removedWorkspaces()).toHaveLength(1);
});
