import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { observedClockOf, type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { testComponents } from '../../../test/helpers/components.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { AppError } from '../../lib/errors.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { StorageOperation } from '../../storage/operations/operation.ts';
import type { Storage } from '../../storage/storage.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { Target } from '../../targets/target.ts';
import { createEngine, type Engine } from '../engine.ts';
import type { ExternalEvent } from '../external-events.ts';
import { configureNotification } from '../notification.ts';

interface Notified {
  readonly event: HeadgateEvent;
  readonly targets: readonly string[];
}

let store: TestStorage;
let clock: TestClock;
let engine: Engine;
let notified: Notified[];
let warned: string[];
let refuse: ((operation: StorageOperation) => AppError | undefined) | undefined;

beforeEach(async () => {
  store = await openTestStorage();
  clock = testClock();
  notified = [];
  warned = [];
  refuse = undefined;
  engine = create();
});

afterEach(async () => {
  await engine.stop();
  await store.close();
});

function create(): Engine {
  const storage: Storage = {
    ...store.storage,
    async commit(operation) {
      const refusal = refuse?.(operation);
      if (refusal !== undefined) throw refusal;
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
    logger: {
      ...silentLogger,
      warn: (fields, message) => void warned.push(`${message}: ${JSON.stringify(fields)}`),
    },
    outbox: {
      enqueue: (rows, event) => notified.push({ event, targets: rows.map(row => row.target) }),
      readFrom: () => {},
    },
    externalUrl: () => undefined,
    instanceName: () => 'gate',
    operationalTarget: () => undefined,
    maxOpen: 60,
  });
}

const target = (id: string): Target => ({
  settings: { id, type: 'test', systemFields: [] },
  concurrency: 1,
  fallback: undefined,
  batching: undefined,
  send: async () => ({ kind: 'sent' }),
  bulletinText: () => undefined,
});

const monitors = (change: object = {}) =>
  configureNotification({ id: 'monitors', condition: 'monitor-alerts', targets: ['hook'], ...change });
const logins = (savedQueryId: string, change: object = {}) =>
  configureNotification({
    id: `on_${savedQueryId}`,
    condition: 'search',
    targets: ['hook'],
    conf: { savedQueryId, message: '${count} failed logins' },
    ...change,
  });

async function start(...notifications: ReturnType<typeof monitors>[]): Promise<void> {
  engine.configure(notifications, [target('hook'), target('second')]);
  await engine.start();
}

async function restart(...notifications: ReturnType<typeof monitors>[]): Promise<void> {
  await engine.stop();
  engine = create();
  await start(...notifications);
}

const alarm = (key: string, more: Partial<ExternalEvent> = {}): ExternalEvent => ({
  condition: 'monitor-alerts',
  key,
  state: 'ALARM',
  ...more,
});
const ok = (key: string, more: Partial<ExternalEvent> = {}): ExternalEvent =>
  alarm(key, { state: 'OK', ...more });
const found = (key: string, count: number): ExternalEvent =>
  alarm(key, { condition: 'search', fields: { count } });

const post = (...events: ExternalEvent[]): Promise<void> => engine.receive('edge', events);
const texts = (): string[] => notified.map(({ event }) => event._raw);
const statuses = (): string[] => notified.map(({ event }) => event.status);

const stored = async (): Promise<readonly IncidentRow[]> =>
  (await store.storage.in('default').incidents.list({}, { offset: 0, limit: 1000 })).rows;

/** Advances the clock, and waits until the transitions of each second are on disk. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1000);
    for (let turn = 0; turn < 3; turn++) {
      await store.storage.transaction(async () => {});
      await store.storage.in('default').events.get('none');
      await clock.advance(0);
    }
  }
}

const diskFull = (): AppError => new AppError('unavailable', 'disk full', { retryAfterSeconds: 10 });

it('warns once of an empty place in the message of a search, with the notification', async () => {
  const message = '${rows[0].user.trim()} from ${hots}';
  await start(logins('logins', { conf: { savedQueryId: 'logins', message } }));
  await post(found('logins/web1', 3), found('logins/web2', 4));
  expect(texts()).toEqual(['Search logins/web1:  from ', 'Search logins/web2:  from ']);
  expect(warned).toEqual([
    expect.stringMatching(
      /^an expression failed: .*"on_logins".*message: at place 1: .*nothing stands there/,
    ),
    expect.stringMatching(/"on_logins".*message: unknown variable 'hots'/),
  ]);
});

it('keeps the delivery hints of an alarm for its reminder and its end, also after a restart', async () => {
  const steering = { __phoneNumber: '+15555550001', __severity: 'fatal' };
  const reminded = monitors({ repeatInterval: '1m' });
  await start(reminded);
  await post(alarm('cpu', { fields: { ...steering, value: 93 } }));
  await restart(reminded);
  await pass(62);
  await post(ok('cpu', { fields: { __severity: 'info' } }));
  expect(statuses()).toEqual(['ALARM', 'ALARM', 'OK']);
  expect(notified[1]?.event).toMatchObject({ ...steering, value: 93 });
  expect(notified[2]?.event).toMatchObject({ __phoneNumber: '+15555550001', __severity: 'info' });
});

describe('an external event', () => {
  it('opens an incident and ends it, each on disk and notified when it is answered', async () => {
    await start(monitors({ severity: 'error', description: 'call the team' }));
    await post(alarm('cpu/web1', { fields: { value: 93, monitor_name: 'CPU', labels: { host: 'web1' } } }));
    expect(await stored()).toMatchObject([{ subject: 'cpu/web1', state: 'open', seq: 1 }]);
    await clock.advance(90_000);
    await post(ok('cpu/web1'));
    expect(await stored()).toMatchObject([{ state: 'closed', seq: 2, close_reason: 'resolved' }]);
    expect(texts()).toEqual([
      'Monitor CPU (cpu/web1) is firing: 93',
      'Monitor cpu/web1 is cleared after 1m 30s',
    ]);
    expect(notified[0]).toMatchObject({
      targets: ['hook'],
      event: {
        status: 'ALARM',
        condition: 'monitor-alerts',
        cribl_notification: 'monitors',
        key: 'cpu/web1',
        severity: 'error',
        description: 'call the team',
        value: 93,
        labels: { host: 'web1' },
      },
    });
    expect(notified[0]?.event).not.toHaveProperty('input');
    expect(notified[0]?.event.starttime).toBe(notified[0]?.event.endtime);
    expect(notified[1]?.event).toMatchObject({ status: 'OK', severity: 'info', key: 'cpu/web1' });
    expect(notified[1]?.event.incidentId).toBe(notified[0]?.event.incidentId);
  });

  it('notifies nothing when it repeats what is known', async () => {
    await start(monitors());
    await post(ok('a'));
    await post(alarm('a'), alarm('a', { id: 'other' }), alarm('a'));
    await post(alarm('a'));
    await post(ok('a'), ok('a'));
    expect(statuses()).toEqual(['ALARM', 'OK']);
  });

  it('has an incident of its own for each key and notification', async () => {
    await start(monitors(), monitors({ id: 'others', targets: ['second'] }));
    await post(alarm('a'), alarm('b'));
    expect(
      notified.map(one => `${one.event.cribl_notification} ${one.event.key} ${one.targets}`).sort(),
    ).toEqual(['monitors a hook', 'monitors b hook', 'others a second', 'others b second']);
  });

  it('matches only the searches whose key it has, or a key below theirs', async () => {
    await start(logins('logins'), logins('log'), monitors());
    await post(
      found('logins', 1),
      found('logins/web1', 2),
      found('log', 3),
      found('logs', 4),
      found('x/log', 5),
    );
    expect(texts().sort()).toEqual([
      'Search log: 3 failed logins',
      'Search logins/web1: 2 failed logins',
      'Search logins: 1 failed logins',
    ]);
    expect(notified[0]?.event.savedQueryId).toBe('logins');
  });

  it('is accepted without effect when no enabled notification waits for it', async () => {
    await start(monitors({ disabled: true }));
    await post(alarm('a'), found('logins', 1));
    expect([notified, await stored()]).toEqual([[], []]);
  });

  it('is taken before the next one of its key, all of them in one request', async () => {
    await start(monitors());
    await post(...Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? alarm('a') : ok('a'))));
    expect(statuses()).toEqual(Array.from({ length: 10 }, () => ['ALARM', 'OK']).flat());
    expect((await stored()).every(({ state, seq }) => state === 'closed' && seq === 2)).toBe(true);
  });

  it('is written together with all others of its request', async () => {
    let atOnce = 0;
    let most = 0;
    refuse = () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      queueMicrotask(() => queueMicrotask(() => (atOnce = 0)));
      return undefined;
    };
    await start(monitors());
    await post(...Array.from({ length: 50 }, (_, index) => alarm(`key-${index}`)));
    expect(most).toBe(50);
    expect(await stored()).toHaveLength(50);
  });

  it('has incidents that no evaluation closes or forgets', async () => {
    await start(monitors());
    await post(alarm('a'), alarm('gone/b'));
    await pass(120);
    expect(statuses()).toEqual(['ALARM', 'ALARM']);
  });
});

describe('an id', () => {
  it('counts once, however often and with whatever other events it comes', async () => {
    await start(monitors());
    await post(alarm('a', { id: '1' }), alarm('a', { id: '1' }));
    await Promise.all([
      post(ok('a', { id: '2' })),
      post(ok('a', { id: '2' })),
      post(alarm('a', { id: '1' })),
    ]);
    await post(alarm('a', { id: '1' }));
    expect(statuses()).toEqual(['ALARM', 'OK']);
  });

  it('counts once over a restart, also beside one that changed nothing', async () => {
    const request = [alarm('a', { id: '1' }), alarm('a', { id: '2' }), ok('a', { id: '3' })];
    await start(monitors());
    await post(...request);
    await restart(monitors());
    await post(...request);
    expect(statuses()).toEqual(['ALARM', 'OK']);
  });

  it('that changed nothing does not when it comes again later', async () => {
    await start(monitors());
    await post(ok('a', { id: '0' }));
    await post(alarm('a', { id: '1' }));
    await post(ok('a', { id: '0' }));
    expect(statuses()).toEqual(['ALARM']);
  });

  it('counts once over a restart, whatever it changed and whatever happened since', async () => {
    await start(monitors(), monitors({ id: 'others' }));
    await post(alarm('a', { id: '1' }), alarm('b', { id: '2' }));
    await post(alarm('a', { id: '3' }), ok('b', { id: '4' }), ok('c', { id: '5' }));
    await post(ok('a', { id: '6' }), alarm('c', { id: '7' }));
    const before = notified.length;
    await restart(monitors(), monitors({ id: 'others' }));
    for (const repeated of [alarm('a', { id: '3' }), ok('c', { id: '5' }), alarm('a', { id: '1' })])
      await post(repeated);
    expect(notified.length).toBe(before);
    await post(ok('c', { id: '8' }), alarm('a', { id: '3' }), alarm('a', { id: '9' }));
    expect(texts().slice(before).toSorted()).toEqual([
      ...Array.from({ length: 2 }, () => 'Monitor a is firing'),
      ...Array.from({ length: 2 }, () => expect.stringMatching(/^Monitor c is cleared/)),
    ]);
  });

  it('that changed nothing is not answered before it is on disk, and may come again when that refuses', async () => {
    await start(monitors());
    refuse = diskFull;
    await expect(post(ok('a', { id: '1' }))).rejects.toMatchObject({ code: 'unavailable' });
    refuse = undefined;
    await post(alarm('a', { id: '0' }));
    await post(ok('a', { id: '1' }));
    expect(statuses()).toEqual(['ALARM', 'OK']);
  });

  it('is one of its pipeline and counts for each notification', async () => {
    await start(monitors(), monitors({ id: 'others' }));
    await post(alarm('a', { id: '1' }));
    await engine.receive('core', [ok('a', { id: '1' })]);
    expect(statuses()).toEqual(['ALARM', 'ALARM', 'OK', 'OK']);
  });

  it('is forgotten by the store with its event, when that is old and its incident closed', async () => {
    await start(monitors({ targets: [] }));
    await post(alarm('a', { id: '1' }), ok('a', { id: '2' }));
    const { retention: ageing } = store.storage.in('default');
    const found = (before: number) => ageing.findExpired('events', { before, after: '', limit: 10 });
    expect((await found(clock.now())).ids).toEqual([]);
    const { ids } = await found(clock.now() + 1);
    expect(ids).toHaveLength(2);
    await store.storage.transaction(tx => tx.in('default').removeExpired('events', clock.now() + 1, ids));
    await restart(monitors({ targets: [] }));
    await post(alarm('a', { id: '1' }));
    expect((await stored()).map(({ state }) => state).sort()).toEqual(['closed', 'open']);
  });

  it('whose event the disk refused counts when it comes again', async () => {
    await start(monitors());
    refuse = diskFull;
    await Promise.all(
      [post(alarm('a', { id: '1' })), post(alarm('a', { id: '1' }))].map(one =>
        expect(one).rejects.toMatchObject({ code: 'unavailable' }),
      ),
    );
    refuse = undefined;
    await post(alarm('a', { id: '1' }));
    expect(statuses()).toEqual(['ALARM']);
  });
});

describe('ids that are given twice', () => {
  /** The sender decides which event an id means; a request holds some of them in any order. */
  const sent = fc
    .array(fc.tuple(fc.constantFrom('a', 'b'), fc.boolean()), { minLength: 1, maxLength: 8 })
    .chain(meanings => {
      const events = meanings.map(([key, isOk], id) => (isOk ? ok : alarm)(key, { id: `${id}` }));
      return fc.array(fc.array(fc.constantFrom(...events), { minLength: 1, maxLength: 5 }), { maxLength: 6 });
    });

  /** Works out by hand the answers to a sender when each id counts once. */
  function onPaper(requests: readonly (readonly ExternalEvent[])[]): string[] {
    const seen = new Set<string>();
    const open = new Set<string>();
    const expected: string[] = [];
    for (const { id = '', key, state } of requests.flat()) {
      if (seen.has(id)) continue;
      seen.add(id);
      if (open.has(key) === (state === 'ALARM')) continue;
      if (state === 'ALARM') open.add(key);
      else open.delete(key);
      expected.push(`${key} ${state}`);
    }
    return expected;
  }

  /** Starts again with an empty store. */
  async function afresh(): Promise<void> {
    await engine.stop();
    await store.close();
    store = await openTestStorage();
    notified = [];
    engine = create();
    await start(monitors());
  }

  const byKey = (list: readonly string[]): readonly string[][] =>
    ['a', 'b'].map(key => list.filter(one => one.startsWith(key)));

  it('count once, in whatever order and with whatever other events they come', () =>
    fc.assert(
      fc.asyncProperty(sent, fc.boolean(), async (requests, isTwiceAtOnce) => {
        await afresh();
        for (const events of requests)
          await Promise.all([post(...events), ...(isTwiceAtOnce ? [post(...events)] : [])]);
        const happened = notified.map(({ event }) => `${event.key} ${event.status}`);
        expect(byKey(happened)).toEqual(byKey(onPaper(requests)));
      }),
      { numRuns: 40 },
    ));

  it('make one transition at most, wherever the process is started anew', () =>
    fc.assert(
      fc.asyncProperty(sent, fc.nat({ max: 5 }), async (requests, at) => {
        await afresh();
        for (const [index, events] of requests.entries()) {
          if (index === at) await restart(monitors());
          await post(...events);
        }
        const ids = notified.map(({ event }) => event.id);
        expect(new Set(ids).size).toBe(ids.length);
        const open = (await stored()).filter(({ state }) => state === 'open');
        expect(open.length).toBe(
          notified.length - 2 * notified.filter(({ event }) => event.status === 'OK').length,
        );
      }),
      { numRuns: 30 },
    ));
});

describe('when the disk refuses', () => {
  it('what was written stays, the request fails, and the missing part can be posted again', async () => {
    await start(monitors());
    refuse = operation =>
      operation.kind === 'transition' && operation.incident.subject === 'b' ? diskFull() : undefined;
    await expect(post(alarm('a'), alarm('b'), alarm('c'))).rejects.toMatchObject({
      code: 'unavailable',
      retryAfterSeconds: 10,
    });
    expect((await stored()).map(({ subject }) => subject).sort()).toEqual(['a', 'c']);
    refuse = undefined;
    await post(alarm('a'), alarm('b'), alarm('c'));
    expect(notified.map(({ event }) => event.key).sort()).toEqual(['a', 'b', 'c']);
  });

  it('an end that follows a refused begin closes nothing', async () => {
    await start(monitors());
    refuse = diskFull;
    await expect(post(alarm('a'), ok('a'))).rejects.toMatchObject({ code: 'unavailable' });
    refuse = undefined;
    await post(ok('a'));
    expect(await stored()).toEqual([]);
  });

  it('a whole request that comes again has its whole effect, also of ids that changed nothing before', async () => {
    await start(monitors());
    const request = [alarm('a', { id: '1' }), ok('a', { id: '2' })];
    refuse = diskFull;
    await expect(post(...request)).rejects.toMatchObject({ code: 'unavailable' });
    refuse = undefined;
    await post(...request);
    expect(statuses()).toEqual(['ALARM', 'OK']);
  });

  it('answers that it can be tried again when another process has written meanwhile', async () => {
    await start(monitors());
    refuse = () => new AppError('conflict', 'another leads');
    await expect(post(alarm('a'))).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
  });
});

describe('an incident of external events', () => {
  it('goes on after a restart and ends with the event that is posted then', async () => {
    await start(monitors());
    await post(alarm('a'));
    await restart(monitors());
    await pass(5);
    await post(alarm('a'), ok('a'));
    expect(statuses()).toEqual(['ALARM', 'OK']);
    expect(await stored()).toMatchObject([{ state: 'closed' }]);
  });

  it('is notified again as often as repeatInterval says, with its fields, also after a restart', async () => {
    await start(monitors({ repeatInterval: '30s' }));
    await post(alarm('a', { fields: { value: 7, labels: { host: 'web1' } } }));
    await pass(35);
    await restart(monitors({ repeatInterval: '30s' }));
    await pass(30);
    expect(statuses()).toEqual(['ALARM', 'ALARM', 'ALARM']);
    expect(new Set(texts())).toEqual(new Set(['Monitor a is firing: 7']));
    expect(notified.at(-1)?.event).toMatchObject({ value: 7, labels: { host: 'web1' }, key: 'a' });
    expect(new Set(notified.map(({ event }) => event.id)).size).toBe(3);
    await post(ok('a'));
    await pass(60);
    expect(statuses()).toEqual(['ALARM', 'ALARM', 'ALARM', 'OK']);
  });

  it.each([
    ['removed', () => [], 'the notification was removed'],
    ['disabled', () => [logins('logins', { disabled: true })], 'the notification was disabled'],
    [
      'changed in its conf',
      () => [logins('logins', { conf: { savedQueryId: 'logins', message: 'look' } })],
      'the notification was changed',
    ],
  ])('closes when its notification is %s', async (_, next, reason) => {
    await start(logins('logins'));
    await post(found('logins/web1', 3));
    engine.configure(next(), [target('hook')]);
    await pass(2);
    expect(notified.at(-1)).toMatchObject({ targets: ['hook'], event: { status: 'OK', key: 'logins/web1' } });
    expect(notified.at(-1)?.event._raw).toBe(`Closed, ${reason}: Search logins/web1: 3 failed logins`);
  });

  it('closes after a start whose configuration has no such notification any more', async () => {
    await start(monitors());
    await post(alarm('cpu/web1'));
    await restart();
    await pass(2);
    expect(notified.at(-1)?.event).toMatchObject({ status: 'OK', key: 'cpu/web1' });
    expect(notified.at(-1)?.event).not.toHaveProperty('input');
  });

  it('ends on the targets that were notified when the targets were changed meanwhile', async () => {
    await start(monitors());
    await post(alarm('a'));
    engine.configure([monitors({ targets: ['second'] })], [target('hook'), target('second')]);
    await post(ok('a'), alarm('b'));
    expect(notified.map(({ targets }) => targets[0]).toSorted()).toEqual(['hook', 'hook', 'second']);
  });
});

it('opens no more incidents than a notification may have, and goes on when some are over', async () => {
  await start(monitors());
  await post(...Array.from({ length: 60 }, (_, index) => alarm(`${index}`)));
  await expect(post(alarm('more'))).rejects.toMatchObject({
    code: 'unprocessable',
    message: expect.stringContaining("'monitors' has 60 open incidents"),
  });
  await post(ok('7'));
  await post(alarm('more'));
  expect(await stored()).toHaveLength(61);
});

it('takes nothing more once it has stopped', async () => {
  await start(monitors());
  await engine.stop();
  await expect(post(alarm('a'))).rejects.toMatchObject({ code: 'unavailable' });
});

it('refuses the setting for, as an accepted event must be on disk', () => {
  expect(() => monitors({ for: '5m' })).toThrow(
    /must be 0s: external events of 'monitor-alerts' notify at once/,
  );
});
