import { expect, test } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import type { UserRow } from '../storage/stores/users.ts';
import type { CommittedChange } from '../storage/types.ts';
import { openChangeFeed } from './change-feed.ts';
import { createUserDirectory } from './sessions/authenticate.ts';
import { newUserRow } from './users/user.ts';

const ANN = newUserRow({
  id: 'u-1',
  username: 'ann',
  password: '',
  role: 'reader',
  created_at: 0,
  version: 1,
});

/** A store that counts its reads, and notifies changes only when the test does. */
async function setup({ isShared }: { isShared: boolean }) {
  const clock = testClock();
  let row: UserRow | undefined = ANN;
  let changes = 1;
  let isDown = false;
  let reads = 0;
  let renewed = 0;
  let hear: (fact: CommittedChange) => void = () => {};
  const unused = () => Promise.reject(new Error('unused'));
  const storage = {
    users: {
      count: unused,
      byName: unused,
      byIdentity: unused,
      accountsNamed: unused,
      accountsOf: unused,
      list: unused,
      byId: async () => {
        reads += 1;
        return row;
      },
      isRevoked: async () => false,
      changes: async () => (isDown ? Promise.reject(new Error('down')) : changes),
    },
    sessions: { byId: unused },
    subscribe(listener: (fact: CommittedChange) => void) {
      hear = listener;
      return () => {};
    },
  };
  const feed = await openChangeFeed({
    storage,
    isShared,
    clock,
    logger: silentLogger,
    changed: async () => {
      renewed += 1;
    },
  });
  const directory = { ...feed, ...createUserDirectory(feed, storage) };
  return {
    clock,
    directory,
    reads: () => reads,
    /** How often it was said that another process may have changed something. */
    renewed: () => renewed,
    /** What another process commits. */
    commit(next: UserRow | undefined): void {
      row = next;
      changes += 1;
    },
    tell: (id: string) => hear({ workspace: '*', resource: 'users', id }),
    down: (now: boolean) => {
      isDown = now;
    },
  };
}

test('a user is read once and known from then on', async () => {
  const { directory, reads } = await setup({ isShared: false });
  for (let round = 0; round < 5; round++) expect(await directory.find('u-1')).toEqual(ANN);
  expect(reads()).toBe(1);
});

test.each(['u-1', '*'])('a notified change takes effect at once (%s)', async id => {
  const { directory, commit, tell } = await setup({ isShared: false });
  await directory.find('u-1');
  commit({ ...ANN, disabled: 1 });
  tell(id);
  expect(await directory.find('u-1')).toMatchObject({ disabled: 1 });
});

test('an answer that was under way while the user changed is not remembered', async () => {
  const { directory, commit, tell } = await setup({ isShared: false });
  const early = directory.find('u-1');
  tell('u-1');
  commit({ ...ANN, disabled: 1 });
  await early;
  expect(await directory.find('u-1')).toMatchObject({ disabled: 1 });
});

test('a change of another process that was not notified takes effect within a second', async () => {
  const { clock, directory, commit } = await setup({ isShared: true });
  await directory.find('u-1');
  commit(undefined);
  await clock.advance(1000);
  expect(await directory.find('u-1')).toBeUndefined();
});

test('while the store does not say what changed nobody is let in after two seconds, until it does again', async () => {
  const { clock, directory, down } = await setup({ isShared: true });
  await directory.find('u-1');
  down(true);
  await clock.advance(1400);
  expect(await directory.find('u-1')).toEqual(ANN);
  await clock.advance(700);
  await expect(directory.find('u-1')).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
  await expect(directory.isRevoked('t')).rejects.toMatchObject({ code: 'unavailable' });
  down(false);
  await clock.advance(500);
  expect(await directory.find('u-1')).toEqual(ANN);
});

test('alone on its store a process asks nothing from time to time, and waits for nobody', async () => {
  const { clock, directory, down } = await setup({ isShared: false });
  down(true);
  await clock.advance(60_000);
  expect(await directory.find('u-1')).toEqual(ANN);
  await directory.waitForPropagation();
});

test('a change has propagated once the caches of other processes have expired', async () => {
  const { clock, directory } = await setup({ isShared: true });
  let isOver = false;
  const waiting = directory.waitForPropagation().then(() => {
    isOver = true;
  });
  await clock.advance(1999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  await waiting;
  expect(isOver).toBe(true);
  directory.stop();
});

test('has whatever else was known read anew when another process may have changed something', async () => {
  const { clock, directory, commit, renewed } = await setup({ isShared: true });
  const before = renewed();
  await clock.advance(500);
  expect(renewed()).toBe(before);
  commit(undefined);
  await clock.advance(500);
  expect(renewed()).toBe(before + 1);
  directory.stop();
});
