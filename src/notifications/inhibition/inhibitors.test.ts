import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { observedClockOf, type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { testComponents } from '../../../test/helpers/components.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { until } from '../../../test/helpers/until.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Target } from '../../targets/target.ts';
import { createEngine, type Engine } from '../engine.ts';
import { configureNotification } from '../notification.ts';
import { configureInhibition } from './inhibition-rule.ts';

let store: TestStorage;
let clock: TestClock;
let engine: Engine;
let queued: string[];

beforeEach(async () => {
  store = await openTestStorage();
  clock = testClock();
  engine = create();
});

afterEach(async () => {
  await engine.stop();
  await store.close();
});

function create(): Engine {
  queued = [];
  return createEngine({
    workspace: 'default',
    storage: store.storage,
    components: testComponents(clock),
    clock,
    observedClock: observedClockOf(clock),
    ids: monotonicIds(clock),
    logger: silentLogger,
    outbox: {
      enqueue: rows => queued.push(...rows.map(({ id }) => id)),
      readFrom: (_, first) => queued.push(first),
    },
    externalUrl: () => undefined,
    instanceName: () => 'headgate',
    operationalTarget: () => undefined,
  });
}

const target = (id: string): Target => ({
  settings: { id, type: 'test', systemFields: [] },
  concurrency: 1,
  fallback: undefined,
  batching: undefined,
  neverGroups: false,
  send: async () => ({ kind: 'sent' }),
  bulletinText: () => undefined,
});

interface Rule {
  readonly id?: string;
  readonly when: Readonly<Record<string, string>>;
  readonly hold: Readonly<Record<string, string>>;
  readonly equal?: readonly string[];
}

const matchers = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([name, value]) => ({ name, op: '=', value }));

/** What is fatal on a host inhibits what is worth a warning there. */
const FATAL_FIRST: Rule = { when: { level: 'fatal' }, hold: { level: 'warn' }, equal: ['host'] };

function configure(rules: readonly Rule[], change: object = {}): void {
  const monitors = configureNotification({
    id: 'monitors',
    condition: 'monitor-alerts',
    targets: ['hook'],
    ...change,
  });
  const inhibitions = rules.map(({ id = 'rule', when, hold, equal = [] }) =>
    configureInhibition({ id, when: matchers(when), hold: matchers(hold), equal }),
  );
  engine.configure([monitors], [target('hook'), target('pager'), target('lead')], [], inhibitions);
}

async function start(rules: readonly Rule[], change: object = {}): Promise<void> {
  configure(rules, change);
  await engine.start();
}

async function restart(rules: readonly Rule[], change: object = {}): Promise<void> {
  await engine.stop();
  // A later process makes later ids.
  await clock.advance(1000);
  engine = create();
  await start(rules, change);
}

/** Posts an event whose key is its level and its host. */
const post = (key: string, state: 'ALARM' | 'OK' = 'ALARM', more: object = {}): Promise<void> => {
  const [level = '', host = ''] = key.split('@');
  return engine.receive('edge', [
    { condition: 'monitor-alerts', key, state, fields: { level, ...(host !== '' && { host }), ...more } },
  ]);
};

const pass = (seconds: number): Promise<void> => clock.advance(seconds * 1000);

async function rows() {
  const page = await store.storage.in('default').deliveries.list({}, { offset: 0, limit: 100 });
  return page.rows.toReversed();
}

async function incidentOf(subject: string) {
  const page = await store.storage.in('default').incidents.list({}, { offset: 0, limit: 100 });
  const found = page.rows.find(row => row.subject === subject);
  if (found === undefined) throw new Error(`no incident on ${subject}`);
  return found;
}

/** Waits for what the next looks of the engine come to. */
const comes = (check: () => Promise<boolean>, what: string): Promise<void> =>
  until(async () => {
    await clock.advance(100);
    return check();
  }, what);

/** What waits, and what was put into the queue. */
const deliveries = async (): Promise<string[]> =>
  (await rows()).map(row => `${row.subject} ${row.status} ${row.state}`);

const become = (...expected: string[]): Promise<void> =>
  comes(async () => JSON.stringify(await deliveries()) === JSON.stringify(expected), 'the deliveries');

describe('an alarm that an open incident inhibits', () => {
  it('waits on disk from its transition on, and names the incident and the rule', async () => {
    await start([FATAL_FIRST]);
    await post('fatal@a');
    await post('warn@a');
    await post('warn@b');
    expect(await deliveries()).toEqual([
      'fatal@a ALARM waiting',
      'warn@a ALARM grouped',
      'warn@b ALARM waiting',
    ]);
    const inhibitor = await incidentOf('fatal@a');
    expect((await rows())[1]).toMatchObject({
      inhibited_by: inhibitor.id,
      inhibition: 'rule',
      next_at: null,
    });
    expect(await incidentOf('warn@a')).toMatchObject({ inhibited_by: inhibitor.id });
    expect(await incidentOf('warn@b')).toMatchObject({ inhibited_by: null });
    await pass(200);
    expect((await deliveries())[1]).toBe('warn@a ALARM grouped');
  });

  it('is sent at once when that incident closes and its own is still open, and so is its end then', async () => {
    await start([FATAL_FIRST]);
    await post('fatal@a');
    await post('warn@a');
    await post('fatal@a', 'OK');
    await pass(0);
    await become('fatal@a ALARM waiting', 'warn@a ALARM waiting', 'fatal@a OK waiting');
    const late = (await rows())[1];
    expect(queued).toContain(late?.id);
    const inhibitor = await incidentOf('fatal@a');
    const { rows: events } = await store.storage
      .in('default')
      .events.ofIncident(late?.incident_id ?? '', { offset: 0, limit: 9 });
    expect(JSON.parse(events[0]?.body ?? '')).toMatchObject({
      inhibition: 'rule',
      inhibitedBy: inhibitor.id,
      _raw: expect.stringContaining(`(inhibited until now by inhibition rule, for incident ${inhibitor.id})`),
    });
    await post('warn@a', 'OK');
    expect((await deliveries()).at(-1)).toBe('warn@a OK waiting');
  });

  it('is sent to nobody, nor is its end, when its own incident is over before', async () => {
    await start([FATAL_FIRST]);
    await post('fatal@a');
    await post('warn@a');
    await post('warn@a', 'OK');
    await post('fatal@a', 'OK');
    await pass(120);
    expect(await deliveries()).toEqual([
      'fatal@a ALARM waiting',
      'warn@a ALARM skipped',
      'fatal@a OK waiting',
    ]);
    expect((await rows())[1]).toMatchObject({
      last_error: 'its incident was over before the one that inhibited it',
    });
  });

  it('waits for every target, also for those that never group', async () => {
    await start([FATAL_FIRST], { targets: ['hook', 'pager'] });
    await post('fatal@a');
    await post('warn@a');
    expect((await rows()).filter(row => row.subject === 'warn@a').map(row => row.state)).toEqual([
      'grouped',
      'grouped',
    ]);
  });

  it('waits over a restart, and is sent when the incident closes after it', async () => {
    await start([FATAL_FIRST]);
    await post('fatal@a');
    await post('warn@a');
    await restart([FATAL_FIRST]);
    await pass(120);
    expect((await deliveries())[1]).toBe('warn@a ALARM grouped');
    await post('warn@a', 'ALARM');
    await post('fatal@a', 'OK');
    await pass(0);
    await become('fatal@a ALARM waiting', 'warn@a ALARM waiting', 'fatal@a OK waiting');
  });

  it('is held back after a restart by an incident that was open before', async () => {
    await start([FATAL_FIRST]);
    await post('fatal@a');
    await restart([FATAL_FIRST]);
    await post('warn@a');
    expect((await deliveries())[1]).toBe('warn@a ALARM grouped');
  });

  it('is sent at the start of a process whose configuration lacks the rule', async () => {
    await start([FATAL_FIRST]);
    await post('fatal@a');
    await post('warn@a');
    await restart([]);
    await pass(1);
    await become('fatal@a ALARM waiting', 'warn@a ALARM waiting');
  });

  it('goes on waiting for another incident that inhibits it by then', async () => {
    await start([FATAL_FIRST]);
    await post('fatal@a');
    await post('warn@a');
    await engine.receive('edge', [
      { condition: 'monitor-alerts', key: 'second', state: 'ALARM', fields: { level: 'fatal', host: 'a' } },
    ]);
    await post('fatal@a', 'OK');
    const second = await incidentOf('second');
    await comes(async () => (await rows())[1]?.inhibited_by === second.id, 'the other incident');
    expect((await deliveries())[1]).toBe('warn@a ALARM grouped');
    await post('second', 'OK');
    await comes(async () => (await rows())[1]?.state === 'waiting', 'the alarm');
  });

  it('waits for the end of a silence, and of a mute window, after that', async () => {
    await start([FATAL_FIRST], { muteWindows: [{ times: ['00:00-00:05'] }] });
    await post('fatal@a');
    await post('warn@a');
    const now = clock.now();
    await store.storage.transaction(tx =>
      tx.in('default').addSilence({
        id: 's1',
        matchers: JSON.stringify(matchers({ level: 'warn' })),
        ...{ starts_at: now, ends_at: now + 120_000, until_resolved: 0 },
        ...{ comment: '', created_by: 'ops', created_at: now },
      }),
    );
    await engine.refreshSilences();
    await post('fatal@a', 'OK');
    await comes(async () => (await rows())[1]?.silenced_by === 's1', 'the silence');
    expect((await rows())[1]).toMatchObject({ inhibited_by: null, next_at: now + 120_000 });
    await pass(130);
    expect((await deliveries())[1]).toBe('warn@a ALARM grouped');
    await pass(180);
    await comes(async () => (await rows())[1]?.state === 'waiting', 'the alarm');
  });

  it('that is muted when the incident closes is no longer said to be inhibited', async () => {
    await start([FATAL_FIRST], { muteWindows: [{ times: ['00:00-00:05'] }] });
    await post('fatal@a');
    await post('warn@a');
    await post('fatal@a', 'OK');
    await comes(async () => (await rows())[1]?.inhibited_by === null, 'the muted alarm');
    expect((await deliveries())[1]).toBe('warn@a ALARM grouped');
    await pass(301);
    await comes(async () => (await rows())[1]?.state === 'waiting', 'the alarm');
  });

  it('does not escalate meanwhile', async () => {
    await start([FATAL_FIRST], { escalateAfter: '1m', escalateTo: ['lead'] });
    await post('warn@b');
    await post('fatal@a');
    await post('warn@a');
    await pass(60);
    await pass(60);
    const escalated = async () => (await rows()).filter(row => row.target === 'lead').map(row => row.subject);
    await comes(async () => (await escalated()).length === 2, 'the others');
    expect(await escalated()).not.toContain('warn@a');
  });
});

describe('an inhibition', () => {
  it('holds back what waits in a group when the group is due', async () => {
    await start([FATAL_FIRST], { groupBy: ['level'], groupWait: '10s', groupInterval: '60s' });
    await post('warn@a');
    await post('warn@b');
    await pass(5);
    await post('fatal@a');
    await pass(6);
    await comes(async () => (await rows())[1]?.state === 'waiting', 'the alarm of the other host');
    expect((await rows())[0]).toMatchObject({
      state: 'grouped',
      inhibited_by: (await incidentOf('fatal@a')).id,
    });
  });

  it('does not hold back the end of an alarm that was sent, but its reminders', async () => {
    await start([FATAL_FIRST], { repeatInterval: '10s' });
    await post('warn@a');
    await post('fatal@a');
    await pass(11);
    await post('warn@a');
    const ofWarn = async () => (await deliveries()).filter(text => text.startsWith('warn'));
    await comes(async () => (await ofWarn()).length === 2, 'the reminder');
    expect(await ofWarn()).toEqual(['warn@a ALARM waiting', 'warn@a ALARM grouped']);
    await post('warn@a', 'OK');
    expect(await ofWarn()).toEqual(['warn@a ALARM waiting', 'warn@a ALARM skipped', 'warn@a OK waiting']);
  });

  it('takes a field that both lack for equal, and one that is empty for one that is not there', async () => {
    await start([FATAL_FIRST]);
    await post('fatal', 'ALARM');
    await post('warn', 'ALARM', { host: '' });
    await post('warn@a');
    expect((await deliveries()).slice(1)).toEqual(['warn ALARM grouped', 'warn@a ALARM waiting']);
  });

  it('never lets an incident inhibit itself, nor what fits both sides inhibit what does so, too', async () => {
    await start([{ when: { team: 'red' }, hold: { team: 'red' } }]);
    await post('one', 'ALARM', { team: 'red' });
    await post('two', 'ALARM', { team: 'red' });
    expect(await deliveries()).toEqual(['one ALARM waiting', 'two ALARM waiting']);
  });

  it('lets what fits one side only inhibit what fits both', async () => {
    await start([{ when: { team: 'red' }, hold: { host: 'a' } }]);
    await post('warn', 'ALARM', { team: 'red' });
    await post('info@a', 'ALARM', { team: 'red' });
    await post('warn@a', 'ALARM', { team: 'blue' });
    expect(await deliveries()).toEqual([
      'warn ALARM waiting',
      'info@a ALARM grouped',
      'warn@a ALARM grouped',
    ]);
  });

  it('sends one of two alarms that could inhibit each other, also when both wait in groups', async () => {
    const rules = [
      { id: 'one', when: { level: 'warn' }, hold: { level: 'info' } },
      { id: 'other', when: { level: 'info' }, hold: { level: 'warn' } },
    ];
    await start(rules, { groupBy: ['level'], groupWait: '10s' });
    await post('warn@a');
    await post('info@a');
    await pass(11);
    await become('warn@a ALARM waiting', 'info@a ALARM grouped');
    await post('warn@a', 'OK');
    await pass(311);
    await comes(async () => (await rows())[1]?.state === 'waiting', 'the other alarm');
  });

  it('of which an incident that is held back itself inhibits others', async () => {
    await start([
      { id: 'one', when: { level: 'fatal' }, hold: { level: 'warn' } },
      { id: 'two', when: { level: 'warn' }, hold: { level: 'info' } },
    ]);
    await post('fatal');
    await post('warn');
    await post('info');
    expect(await deliveries()).toEqual(['fatal ALARM waiting', 'warn ALARM grouped', 'info ALARM grouped']);
    await post('warn', 'OK');
    await pass(0);
    await become('fatal ALARM waiting', 'warn ALARM skipped', 'info ALARM waiting');
  });

  it('counts from the configuration on that brings it, for incidents that are open, and sends what it held when it is gone', async () => {
    await start([]);
    await post('fatal@a');
    configure([FATAL_FIRST]);
    await post('warn@a');
    expect(await deliveries()).toEqual(['fatal@a ALARM waiting', 'warn@a ALARM grouped']);
    configure([{ ...FATAL_FIRST, id: 'renamed' }]);
    await pass(2);
    await comes(async () => (await rows())[1]?.inhibition === 'renamed', 'the renamed rule');
    expect(await deliveries()).toEqual(['fatal@a ALARM waiting', 'warn@a ALARM grouped']);
    configure([]);
    await pass(1);
    await become('fatal@a ALARM waiting', 'warn@a ALARM waiting');
  });

  it('knows incidents by the alarm that opened them, whatever later ones say', async () => {
    await start([FATAL_FIRST], { repeatInterval: '1s' });
    await post('one', 'ALARM', { level: 'fatal', host: 'a' });
    await pass(2);
    await post('one', 'ALARM', { level: 'info', host: 'b' });
    await restart([FATAL_FIRST]);
    await post('warn@a');
    await post('warn@b');
    const ofWarn = (await deliveries()).filter(text => text.startsWith('warn'));
    expect(ofWarn).toEqual(['warn@a ALARM grouped', 'warn@b ALARM waiting']);
  });
});
