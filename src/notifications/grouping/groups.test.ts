import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { observedClockOf, type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { testComponents } from '../../../test/helpers/components.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { until } from '../../../test/helpers/until.ts';
import { AppError } from '../../lib/errors.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { StorageOperation } from '../../storage/operations/operation.ts';
import type { Storage } from '../../storage/storage.ts';
import type { DeliveryRow } from '../../storage/stores/deliveries.ts';
import type { Target } from '../../targets/target.ts';
import { createEngine, type Engine } from '../engine.ts';
import type { ExternalEvent } from '../external-events.ts';
import { configureNotification } from '../notification.ts';

let store: TestStorage;
let clock: TestClock;
let engine: Engine;
/** Ids of deliveries that were handed to the delivery workers without waiting. */
let atOnce: string[];
let released: string[];
let refuse: ((operation: StorageOperation) => boolean) | undefined;
/** Deliveries sent, with the second since the start, as the writer recorded them. */
let told: string[];
let grouped: Map<string, DeliveryRow>;
let began: number;

beforeEach(async () => {
  store = await openTestStorage();
  clock = testClock();
  began = clock.now();
  atOnce = [];
  released = [];
  refuse = undefined;
  told = [];
  grouped = new Map();
  engine = create();
});

afterEach(async () => {
  await engine.stop();
  await store.close();
});

function note(operation: StorageOperation): void {
  if (operation.kind === 'transition') {
    for (const row of operation.deliveries) if (row.state === 'grouped') grouped.set(row.id, row);
    for (const id of operation.dropped ?? []) grouped.delete(id);
  }
  if (operation.kind !== 'flush') return;
  for (const row of grouped.values()) {
    if (row.group_id !== operation.group.id || (operation.sends === 'resolved' && row.status === 'ALARM'))
      continue;
    grouped.delete(row.id);
    told.push(`${(clock.now() - began) / 1000} ${row.target} ${row.subject} ${row.status}`);
  }
}

function create(): Engine {
  const storage: Storage = {
    ...store.storage,
    async commit(operation) {
      if (refuse?.(operation) === true) throw new AppError('unavailable', 'the disk is full');
      note(operation);
      await store.storage.commit(operation);
    },
  };
  return createEngine({
    workspace: 'default',
    storage,
    components: testComponents(clock),
    clock,
    observedClock: observedClockOf(clock),
    ids: monotonicIds(clock),
    logger: silentLogger,
    outbox: {
      enqueue: rows => atOnce.push(...rows.map(row => `${row.target} ${row.subject} ${row.status}`)),
      readFrom: targets => released.push(...targets),
    },
    externalUrl: () => undefined,
    instanceName: () => 'headgate',
    operationalTarget: () => undefined,
  });
}

const target = (id: string, neverGroups = false): Target => ({
  settings: { id, type: 'test', systemFields: [] },
  concurrency: 1,
  fallback: undefined,
  batching: undefined,
  neverGroups,
  send: async () => ({ kind: 'sent' }),
  bulletinText: () => undefined,
});

const monitors = (change: object = {}) =>
  configureNotification({
    id: 'monitors',
    condition: 'monitor-alerts',
    targets: ['hook'],
    groupBy: ['team'],
    groupWait: '10s',
    groupInterval: '60s',
    ...change,
  });

const configure = (...notifications: ReturnType<typeof monitors>[]): void =>
  engine.configure(notifications, [target('hook'), target('pager', true)]);

async function start(...notifications: ReturnType<typeof monitors>[]): Promise<void> {
  configure(...notifications);
  await engine.start();
}

async function restart(...notifications: ReturnType<typeof monitors>[]): Promise<void> {
  await engine.stop();
  engine = create();
  await start(...notifications);
}

const event = (key: string, state: ExternalEvent['state'], team?: string): ExternalEvent => ({
  condition: 'monitor-alerts',
  key,
  state,
  ...(team !== undefined && { fields: { team } }),
});
const alarm = (key: string, team = 'red'): Promise<void> =>
  engine.receive('edge', [event(key, 'ALARM', team)]);
const end = (key: string): Promise<void> => engine.receive('edge', [event(key, 'OK')]);
const pass = (seconds: number): Promise<void> => clock.advance(seconds * 1000);

const rows = async (): Promise<readonly DeliveryRow[]> =>
  (await store.storage.in('default').deliveries.list({}, { offset: 0, limit: 1000 })).rows.toReversed();
const states = async (): Promise<string[]> =>
  (await rows()).map(row => `${row.target} ${row.subject} ${row.status} ${row.state}`);

describe('a grouped event', () => {
  it('is on disk at once and sent when the first of its group has waited groupWait', async () => {
    await start(monitors());
    await alarm('a');
    expect(await rows()).toMatchObject([{ state: 'grouped', next_at: began + 10_000 }]);
    await pass(6);
    await alarm('b');
    await alarm('c', 'blue');
    await pass(9);
    expect(told).toEqual(['10 hook a ALARM', '10 hook b ALARM']);
    expect(atOnce).toEqual([]);
    await until(() => released.length > 0);
    expect(released).toEqual(['hook']);
    expect(await states()).toEqual(['hook a ALARM waiting', 'hook b ALARM waiting', 'hook c ALARM grouped']);
  });

  it('waits for the end of the interval when its group was sent, and groupWait when that is over', async () => {
    await start(monitors());
    await alarm('a');
    await pass(15);
    await alarm('b');
    await pass(100);
    expect(told).toEqual(['10 hook a ALARM', '70 hook b ALARM']);
    await pass(20);
    await alarm('c');
    await pass(10);
    expect(told.slice(2)).toEqual(['145 hook c ALARM']);
  });

  it('waits no longer than the interval after a restart by a clock that was set back', async () => {
    await start(monitors());
    await alarm('a');
    await pass(15);
    clock.step(-86_400_000);
    await restart(monitors());
    await alarm('b');
    await pass(61);
    expect(told.map(line => line.replace(/^\S+ /, ''))).toEqual(['hook a ALARM', 'hook b ALARM']);
  });

  it('waits no longer than its longest wait after a restart by a clock that was set back, and is not lost', async () => {
    await start(monitors());
    await alarm('a');
    await pass(5);
    clock.step(-86_400_000);
    await restart(monitors());
    await pass(61);
    expect(told.map(line => line.replace(/^\S+ /, ''))).toEqual(['hook a ALARM']);
  });

  it('waits by default 30 seconds and then 5 minutes, in one group without fields', async () => {
    await start(monitors({ groupBy: [], groupWait: undefined, groupInterval: undefined }));
    await alarm('a');
    await alarm('b', 'blue');
    await pass(31);
    await alarm('c', 'green');
    await pass(400);
    expect(told).toEqual(['30 hook a ALARM', '30 hook b ALARM', '330 hook c ALARM']);
  });

  it('is not sent when its incident is over before, and records why', async () => {
    await start(monitors());
    await alarm('a');
    await alarm('b');
    await pass(5);
    await end('a');
    await pass(100);
    expect(told).toEqual(['10 hook b ALARM']);
    const [first, ...others] = await rows();
    expect(first).toMatchObject({
      state: 'skipped',
      settled_at: began + 5000,
      last_error: 'its incident was over before its group was sent',
    });
    expect(others).toHaveLength(1);
  });

  it('goes to the group of its alarm when it is the end of it, whatever its own fields are', async () => {
    await start(monitors());
    await alarm('a', 'blue');
    await alarm('b', 'red');
    await pass(11);
    await end('a');
    await restart(monitors());
    await end('b');
    const all = await rows();
    const groupsOf = (subject: string): unknown[] =>
      all.filter(row => row.subject === subject).map(row => row.group_id);
    expect(groupsOf('a')).toEqual([groupsOf('a')[0], groupsOf('a')[0]]);
    expect(groupsOf('b')).toEqual([groupsOf('b')[0], groupsOf('b')[0]]);
    expect(groupsOf('a')).not.toEqual(groupsOf('b'));
    await pass(60);
    expect(told.slice(2)).toEqual(['70 hook a OK', '70 hook b OK']);
  });

  it('is sent at once to a target that never groups', async () => {
    await start(monitors({ targets: ['hook', 'pager'] }));
    await alarm('a');
    expect(atOnce).toEqual(['pager a ALARM']);
    await end('a');
    expect(atOnce).toEqual(['pager a ALARM', 'pager a OK']);
    await pass(100);
    expect(told).toEqual([]);
  });
});

describe('a change of the configuration', () => {
  it.each([
    ['groupWait', { groupWait: '20s' }],
    ['groupBy', { groupBy: undefined, groupWait: undefined, groupInterval: undefined }],
  ])('of %s sends what waits at once', async (_, change) => {
    await start(monitors());
    await alarm('a');
    await pass(5);
    configure(monitors(change));
    await pass(0);
    expect(told).toEqual(['5 hook a ALARM']);
  });

  it('of anything else leaves it waiting', async () => {
    await start(monitors());
    await alarm('a');
    await pass(5);
    configure(monitors({ description: 'call the team' }));
    await pass(6);
    expect(told).toEqual(['10 hook a ALARM']);
  });

  it('that removes the notification sends nothing about incidents that were never notified', async () => {
    await start(monitors());
    await alarm('a');
    configure();
    await until(async () => (await states()).includes('hook a ALARM skipped'));
    await pass(100);
    expect(told).toEqual([]);
    expect(await states()).toHaveLength(1);
  });

  it('before the start of a process sends at once what waited', async () => {
    await start(monitors());
    await alarm('a');
    await pass(5);
    await restart(monitors({ groupBy: undefined, groupWait: undefined, groupInterval: undefined }));
    await pass(0);
    expect(told).toEqual(['5 hook a ALARM']);
  });
});

/** From the second to the fourth minute after the start. */
const MUTED = { muteWindows: [{ times: ['00:01-00:03'] }] };
const alone = { groupBy: undefined, groupWait: undefined, groupInterval: undefined };

describe('an alarm in a mute window', () => {
  it('is sent when the window ends, to every target, and at once outside', async () => {
    await start(monitors({ ...MUTED, ...alone, targets: ['hook', 'pager'] }));
    await alarm('a');
    expect(atOnce).toEqual(['hook a ALARM', 'pager a ALARM']);
    await pass(70);
    await alarm('b');
    await pass(30);
    await alarm('c', 'blue');
    expect(told).toEqual([]);
    await pass(100);
    expect(told).toEqual(['180 hook b ALARM', '180 pager b ALARM', '180 hook c ALARM', '180 pager c ALARM']);
    expect(atOnce).toHaveLength(2);
  });

  it('waits also over a restart, and is sent once however many reminders were due', async () => {
    const notification = monitors({ ...MUTED, ...alone, repeatInterval: '10s' });
    await start(notification);
    await pass(70);
    await alarm('a');
    await restart(notification);
    await pass(60);
    expect(told).toEqual([]);
    await pass(50);
    expect(told).toEqual(['180 hook a ALARM']);
  });

  it('is not sent when its incident is over before, but the end of a notified incident is sent', async () => {
    await start(monitors({ ...MUTED, ...alone }));
    await alarm('a');
    await pass(70);
    await alarm('b');
    await end('a');
    await end('b');
    await pass(300);
    expect([atOnce, told]).toEqual([['hook a ALARM', 'hook a OK'], []]);
  });

  it('waits in its group, which lets ends go', async () => {
    await start(monitors({ ...MUTED, groupInterval: '30s' }));
    await alarm('a');
    await pass(65);
    await alarm('b');
    await end('a');
    await pass(200);
    expect(told).toEqual(['10 hook a ALARM', '75 hook a OK', '180 hook b ALARM']);
  });

  it('is sent when the window is removed', async () => {
    await start(monitors({ ...MUTED, ...alone }));
    await pass(70);
    await alarm('a');
    configure(monitors(alone));
    await pass(0);
    expect(told).toEqual(['70 hook a ALARM']);
  });
});

describe('a disk that refuses', () => {
  it('a flush is tried again a second later', async () => {
    await start(monitors());
    await alarm('a');
    refuse = operation => operation.kind === 'flush';
    await pass(10);
    await end('a').catch(() => {});
    refuse = undefined;
    await pass(1);
    expect([...told, ...(await states())]).toEqual(['hook a ALARM skipped']);
    await alarm('b');
    refuse = operation => operation.kind === 'flush';
    await pass(70);
    refuse = undefined;
    await pass(1);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/hook b ALARM$/);
  });

  it('the end of an incident leaves its alarm in the group', async () => {
    await start(monitors());
    await alarm('a');
    refuse = operation => operation.kind === 'transition';
    await expect(end('a')).rejects.toThrow('the disk is full');
    await expect(alarm('b')).rejects.toThrow('the disk is full');
    refuse = undefined;
    await pass(10);
    expect(told.map(line => line.replace(/^\S+ /, ''))).toEqual(['hook a ALARM']);
  });
});

it.each(['groupWait', 'groupInterval'])('refuses %s without groupBy', name => {
  expect(() =>
    monitors({ groupBy: undefined, groupWait: undefined, groupInterval: undefined, [name]: '5s' }),
  ).toThrow('needs groupBy');
});

/** Works out the groups naively, as one would on paper. */
function createModel(waitSec: number, intervalSec: number) {
  interface Paper {
    waiting: { key: string; status: string }[];
    due: number | undefined;
    rests: number;
  }
  const groups = new Map<string, Paper>();
  const open = new Map<string, string>();
  const sent: string[] = [];
  let now = 0;

  function join(team: string, key: string, status: string): void {
    const group = groups.get(team) ?? { waiting: [], due: undefined, rests: -1 };
    groups.set(team, group);
    group.waiting.push({ key, status });
    group.due ??= group.rests > now ? group.rests : now + waitSec;
  }

  return {
    sent,
    alarm(key: string, team: string) {
      if (open.has(key)) return;
      open.set(key, team);
      join(team, key, 'ALARM');
    },
    end(key: string) {
      const team = open.get(key);
      if (team === undefined) return;
      open.delete(key);
      const group = groups.get(team);
      const place = group?.waiting.findIndex(one => one.key === key && one.status === 'ALARM') ?? -1;
      if (place < 0) return join(team, key, 'OK');
      group?.waiting.splice(place, 1);
      if (group?.waiting.length === 0) group.due = undefined;
    },
    pass(seconds: number) {
      for (const end = now + seconds; now < end; ) {
        now += 1;
        for (const group of groups.values()) {
          if (group.due !== now) continue;
          for (const { key, status } of group.waiting) sent.push(`${now} hook ${key} ${status}`);
          Object.assign(group, { waiting: [], due: undefined, rests: now + intervalSec });
        }
      }
    },
  };
}

type Step =
  | { readonly kind: 'alarm'; readonly key: string; readonly team: string }
  | { readonly kind: 'end'; readonly key: string }
  | { readonly kind: 'pass'; readonly seconds: number }
  | { readonly kind: 'restart' };

const key = fc.constantFrom('a', 'b', 'c', 'd');
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('alarm'), key, team: fc.constantFrom('red', 'blue') }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('end'), key }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('pass'), seconds: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart') }) },
);

it('sends each event once, when a naive model does, wherever the process is started anew', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 25 }),
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 12 }),
      async (steps, waitSec, intervalSec) => {
        const notification = monitors({ groupWait: `${waitSec}s`, groupInterval: `${intervalSec}s` });
        const model = createModel(waitSec, intervalSec);
        await restart();
        await restart(notification);
        [began, told, grouped] = [clock.now(), [], new Map()];
        for (const one of [...steps, { kind: 'pass', seconds: 20 } as const])
          if (one.kind === 'alarm') {
            model.alarm(one.key, one.team);
            await alarm(one.key, one.team);
          } else if (one.kind === 'end') {
            model.end(one.key);
            await end(one.key);
          } else if (one.kind === 'pass') {
            model.pass(one.seconds);
            await pass(one.seconds);
          } else await restart(notification);
        expect(told.toSorted()).toEqual(model.sent.toSorted());
        await engine.stop();
        expect((await states()).filter(line => line.endsWith('grouped'))).toEqual([]);
        engine = create();
        await start();
        await until(async () => (await store.storage.in('default').incidents.open()).length === 0);
        await pass(60);
      },
    ),
    { numRuns: 25 },
  );
});
