import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { countingIds } from '../../../test/helpers/counting-ids.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { closing, opening } from '../../../test/helpers/transitions.ts';
import { settle } from '../../../test/storage/rows.ts';
import type { Ids } from '../../lib/ids.ts';
import { type KeyRing, openKeyRing } from '../../lib/keyring.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Storage } from '../../storage/storage.ts';
import { pagerDuty } from '../../targets/pager-duty/pager-duty.ts';
import type { Target } from '../../targets/target.ts';
import { webhook } from '../../targets/webhook/webhook.ts';
import { openRemovedTargets, type RemovedTargets } from './removed-targets.ts';

let test: TestStorage;
let clock: TestClock;
let ids: Ids;
let keyRing: KeyRing;
let kept: RemovedTargets;
let logged: string[];
let fields: object[];
/** Called before each transaction, which waits for it. */
let before: () => Promise<void> | void;
/** Called after each transaction, before whoever asked for it learns that. */
let after: () => void;
/** Called once, after the first look at what is owed. */
let between: (() => Promise<void>) | undefined;

beforeEach(async () => {
  test = await openTestStorage();
  clock = testClock();
  ids = countingIds();
  keyRing = await openKeyRing({ path: join(test.folder, 'keys'), mayCreate: true });
  logged = [];
  fields = [];
  before = () => {};
  after = () => {};
  between = undefined;
  kept = await open();
});
afterEach(async () => {
  await kept.idle();
  await test.close();
});

function note(about: object, message: string): void {
  logged.push(message);
  fields.push(about);
}

function open(ring = keyRing): Promise<RemovedTargets> {
  const storage: Pick<Storage, 'in' | 'transaction'> = {
    in(workspace) {
      const stores = test.storage.in(workspace);
      const { deliveries, incidents } = stores;
      return {
        ...stores,
        deliveries: { ...deliveries, waitingByTarget: () => look(deliveries.waitingByTarget) },
        incidents: { ...incidents, open: () => look(incidents.open) },
      };
    },
    async transaction(work, lease) {
      await before();
      const done = await test.storage.transaction(work, lease);
      after();
      return done;
    },
  };
  const logger = { ...silentLogger, warn: note, error: note };
  return openRemovedTargets({ workspace: 'default', storage, keyRing: ring, logger, clock, ids });
}

async function look<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  const answer = await read();
  const then = between;
  between = undefined;
  await then?.();
  return answer;
}

const hook = (url = 'https://a.example/', more: object = {}): Target =>
  webhook.configure({ id: 'hook', type: 'webhook', url, ...more });

/** The addresses of targets that are known and not configured, as another process would find them. */
async function formerUrls(): Promise<unknown[]> {
  await kept.idle();
  return (await open()).removed([]).map(({ settings }) => String(Reflect.get(settings, 'url')));
}

const owe = (): Promise<void> => test.storage.commit(opening().operation);

it('knows a removed target to whom an end is owed by its last settings, its secrets in no clear text', async () => {
  await owe();
  await kept.save([hook('https://a.example/', { authType: 'token', token: 'a-secret-token' })]);
  await kept.save([]);
  const rows = await test.storage.in('default').removedTargets.list();
  expect(rows).toHaveLength(1);
  expect(JSON.stringify(rows)).not.toMatch(/a-secret-token|a\.example/);
  const [former] = (await open()).removed([]);
  const { settings } = hook('https://a.example/', { authType: 'token', token: 'a-secret-token' });
  expect(former?.settings).toEqual({ ...settings, customPayloadExpression: expect.anything() });
  expect(JSON.stringify(former?.settings)).toBe(JSON.stringify(settings));
  expect((await open()).removed([hook()])).toEqual([]);
});

it('forgets a removed target to whom nothing is owed', async () => {
  await kept.save([hook()]);
  await kept.save([]);
  expect(await formerUrls()).toEqual([]);
  expect(kept.removed([])).toEqual([]);
  expect(await test.storage.in('default').removedTargets.list()).toEqual([]);
});

it('knows a target as long as something waits for it, though its incident is over', async () => {
  const alarm = opening();
  await test.storage.commit(alarm.operation);
  await test.storage.commit(closing(alarm).operation);
  await kept.save([hook()]);
  await kept.save([]);
  expect(kept.removed([])).toHaveLength(1);
});

it('knows it by settings that were changed while those before were being written', async () => {
  await owe();
  let second: Promise<void> | undefined;
  after = () => {
    second ??= kept.save([hook('https://b.example/')]);
  };
  await kept.save([hook('https://a.example/')]);
  await second;
  expect(await formerUrls()).toEqual(['https://b.example/']);
});

it('knows one that came back while it was being forgotten', async () => {
  await kept.save([hook()]);
  let back: Promise<void> | undefined;
  before = () => {
    back ??= kept.save([hook()]);
  };
  await kept.save([]);
  await back;
  await owe();
  expect(kept.removed([])).toHaveLength(1);
  expect(await test.storage.in('default').removedTargets.list()).toHaveLength(1);
});

it('knows one whose incident ends while it looks what is owed', async () => {
  const alarm = opening();
  await test.storage.commit(alarm.operation);
  await kept.save([hook()]);
  const deliveries = test.storage.in('default').deliveries;
  const [waiting] = await deliveries.waiting('hook', '', 1);
  await test.storage.commit(settle(waiting?.id ?? ''));
  between = () => test.storage.commit(closing(alarm).operation);
  await kept.save([]);
  expect(kept.removed([])).toHaveLength(1);
});

it('knows a removed one that stands in for another as long as somebody is owed the end', async () => {
  const alarm = opening({ targets: ['main'] });
  await test.storage.commit(alarm.operation);
  const [lost] = alarm.operation.deliveries;
  if (lost === undefined) throw new Error('there is no delivery');
  const standIn = { ...lost, id: `${lost.id}-for-hook`, target: 'hook', fallback_for: 'main' };
  await test.storage.commit(settle(lost.id, { state: 'refused', fallbackDeliveries: [standIn] }));
  await test.storage.commit(settle(standIn.id));
  await kept.save([hook()]);
  await kept.save([]);
  expect(await formerUrls()).toEqual(['https://a.example/']);
  const end = closing(alarm);
  await test.storage.commit(end.operation);
  await kept.save([]);
  expect(await formerUrls()).toEqual(['https://a.example/']);
  await test.storage.commit(settle(end.operation.deliveries[0]?.id ?? '', { state: 'skipped' }));
  await kept.save([]);
  expect(await formerUrls()).toEqual([]);
});

it('knows of a pause as long as the target has the settings by which it asked for it', async () => {
  const until = 1_700_000_000_000;
  await kept.save([hook()]);
  const made = opening();
  await test.storage.commit(made.operation);
  const [row] = made.operation.deliveries;
  await test.storage.commit(settle(row?.id ?? '', { state: 'waiting', pause: { target: 'hook', until } }));
  const found = await open();
  expect([...found.paused([hook()])]).toEqual([['hook', until]]);
  expect([...found.paused([])]).toEqual([['hook', until]]);
  expect([...found.paused([hook('https://b.example/')])]).toEqual([]);
  await kept.save([hook()]);
  expect([...(await open()).paused([hook()])]).toEqual([['hook', until]]);
  await kept.save([hook('https://b.example/')]);
  await kept.save([hook()]);
  expect([...(await open()).paused([hook()])]).toEqual([]);
});

it('goes on with the settings it can read, says of the others that it cannot, and tries a refused write again', async () => {
  await owe();
  await kept.save([hook()]);
  const other = await openKeyRing({ path: join(test.folder, 'others'), mayCreate: true });
  expect((await open(other)).removed([])).toEqual([]);
  expect(logged).toEqual(['kept settings of a target cannot be read']);
  before = () => Promise.reject(new Error('the disk is full'));
  await kept.save([hook('https://b.example/')]);
  expect(logged.at(-1)).toBe('settings of targets cannot be kept for their removal');
  expect(kept.removed([]).map(({ settings }) => String(Reflect.get(settings, 'url')))).toEqual([
    'https://b.example/',
  ]);
  before = () => {};
  await kept.save([]);
  expect(await formerUrls()).toEqual(['https://b.example/']);
});

const pager = (routingKey: string, more: object = {}): Target =>
  pagerDuty.configure({ id: 'hook', type: 'pager_duty', severity: 'error', routingKey, ...more });

it.each<[string, Target, boolean]>([
  ['another key', pager('key-of-b'), true],
  ['another address', pager('key-of-a', { url: 'https://events.eu.pagerduty.com/v2/enqueue' }), true],
  ['another type', hook(), true],
  ['another severity', pager('key-of-a', { severity: 'info' }), false],
])(
  'says which alarms stay open when a target gets %s, also after a restart',
  async (_what, changed, isTold) => {
    const alarm = opening();
    await test.storage.commit(alarm.operation);
    await kept.save([pager('key-of-a')]);
    kept = await open();
    await kept.save([changed]);
    await kept.save([changed]);
    const message =
      'alarms are open where the target sent to before; its settings are kept until they end, for 30 days at most';
    const facts = { target: 'hook', count: 1, incidents: [alarm.event.incidentId] };
    expect(logged).toEqual(isTold ? [message] : []);
    expect(fields).toEqual(isTold ? [facts] : []);
  },
);

it('says nothing of a target that moves while it has told no alarm', async () => {
  await kept.save([pager('key-of-a')]);
  await kept.save([pager('key-of-b')]);
  expect(logged).toEqual([]);
});

/** Ids of the settings of before by which ends are sent, as the next process finds them as well. */
async function earlier(target: Target): Promise<string[]> {
  await kept.idle();
  const ids = (from: RemovedTargets) =>
    from.withEarlier([target]).flatMap(one => (one.earlier?.() ?? []).map(({ id }) => id));
  expect(ids(await open())).toEqual(ids(kept));
  return ids(kept);
}

it('keeps the settings by which an alarm was opened until its incident is over, and lists them without secrets', async () => {
  const alarm = opening();
  await test.storage.commit(alarm.operation);
  await kept.save([pager('key-of-a')]);
  const at = clock.now();
  await kept.save([pager('key-of-b')]);
  const [id] = await earlier(pager('key-of-b'));
  expect(id).toEqual(expect.any(String));
  const [own] = kept.withEarlier([pager('key-of-b')]).flatMap(one => one.earlier?.() ?? []);
  expect(own?.target.destination).toBe(pager('key-of-a').destination);
  const listed = await kept.list();
  expect(listed).toEqual([
    {
      ...{ id, target: 'hook', type: 'pager_duty', reason: 'changed', replacedAt: at },
      ...{ expiresAt: at + 30 * 86_400_000, incidents: 1 },
    },
  ]);
  expect(JSON.stringify([listed, await test.storage.in('default').removedTargets.list()])).not.toContain(
    'key-of',
  );
  const end = closing(alarm);
  await test.storage.commit(end.operation);
  await kept.sweep();
  expect(await earlier(pager('key-of-b'))).toEqual([id]);
  for (const { id: delivery } of [...alarm.operation.deliveries, ...end.operation.deliveries])
    await test.storage.commit(settle(delivery));
  await kept.sweep();
  expect(await earlier(pager('key-of-b'))).toEqual([]);
  expect(await kept.list()).toEqual([]);
});

it('keeps no settings of before for longer than 30 days, of a removed target neither', async () => {
  await owe();
  await kept.save([pager('key-of-a')]);
  await kept.save([pager('key-of-b')]);
  await kept.save([]);
  expect((await kept.list()).map(({ reason }) => reason)).toEqual(['changed', 'removed']);
  await clock.advance(30 * 86_400_000);
  await kept.sweep();
  expect(await kept.list()).toHaveLength(2);
  await clock.advance(1);
  await kept.sweep();
  expect([await kept.list(), kept.removed([])]).toEqual([[], []]);
  expect(await test.storage.in('default').removedTargets.list()).toEqual([]);
});

it('keeps them for 30 days from its start by a clock that was set back before, and sends ends by them meanwhile', async () => {
  await owe();
  await kept.save([pager('key-of-a')]);
  await kept.save([pager('key-of-b')]);
  await kept.save([]);
  clock.step(-365 * 86_400_000);
  kept = await open();
  await clock.advance(30 * 86_400_000);
  await kept.sweep();
  expect((await kept.list()).map(({ reason }) => reason)).toEqual(['changed', 'removed']);
  expect(kept.removed([])).toHaveLength(1);
  await clock.advance(1);
  await kept.sweep();
  expect([await kept.list(), kept.removed([])]).toEqual([[], []]);
});

it('removes kept settings at once and for good, and no others', async () => {
  await owe();
  await kept.save([pager('key-of-a')]);
  await kept.save([pager('key-of-b')]);
  await kept.save([pager('key-of-c')]);
  const [first, second] = await kept.list();
  expect([first?.reason, second?.reason]).toEqual(['changed', 'changed']);
  expect(await kept.remove(first?.id ?? '')).toEqual(first);
  expect(await earlier(pager('key-of-c'))).toEqual([second?.id]);
  await expect(kept.remove(first?.id ?? '')).rejects.toMatchObject({ code: 'not-found' });
  await expect(kept.remove('hook')).rejects.toMatchObject({ code: 'not-found' });
  await kept.save([]);
  await kept.remove('hook');
  expect(kept.removed([])).toEqual([]);
});
