import { afterEach, beforeEach, expect, it } from 'vitest';
import { deliveryWorld, RETRY, SENT } from '../../test/helpers/delivery-world.ts';
import { closing, opening } from '../../test/helpers/transitions.ts';
import { until } from '../../test/helpers/until.ts';
import type { QueueHold } from '../delivery/limits/limits.ts';
import { calendarWindows } from '../lib/calendar-windows.ts';
import { rate } from '../lib/rate.ts';
import { type DeliveryRow, newDelivery } from '../storage/stores/deliveries.ts';
import { DELIVERY_STATES } from '../storage/tables.ts';
import type { Outcome } from '../targets/outcome.ts';
import { type HeldReader, heldOf } from './held.ts';

const world = deliveryWorld();

const PAUSE: Outcome = { ...RETRY, httpStatus: 429, retryAfterMs: 20_000, pauseTarget: true };

/** Answers what is in flight, and what follows. */
let release = (): void => {};
let released: Promise<Outcome>;
beforeEach(() => {
  released = new Promise(resolve => {
    release = () => resolve(SENT);
  });
});
afterEach(() => release());
const late = (): Promise<Outcome> => released;

const row = (change: Partial<DeliveryRow> = {}): DeliveryRow => ({
  ...newDelivery({
    id: 'd2',
    target: 'hook',
    notification: 'silent',
    subject: 'edge/syslog:app',
    incident_id: 'i',
    event_id: 'e',
    seq: 1,
    status: 'ALARM',
    created_at: 0,
  }),
  ...change,
});

function reader(change: Partial<ReturnType<HeldReader['configuration']>> = {}): HeldReader {
  const configuration = {
    targets: [{ settings: { id: 'hook', type: 'webhook' } }],
    notifications: [],
    ...change,
  };
  return {
    clock: { now: () => world.clock.now() },
    configuration: () => configuration,
    hold: (target, delivery) => world.dispatcher.hold(target, delivery),
  };
}

const muting = reader({
  notifications: [
    {
      id: 'silent',
      grouping: undefined,
      muteWindows: calendarWindows.parse([
        { months: [2] },
        { times: ['00:00-24:00'], timezone: 'Europe/Berlin', weekdays: ['mon-sat'] },
      ]),
    },
  ],
});

const GROUPED = { state: 'grouped', group_id: 'g' } as const;

// The clock of the world shows 2026-01-01 00:00 UTC, a Thursday.
it.each<[string, Partial<DeliveryRow>, HeldReader, string]>([
  ['a mute window', GROUPED, muting, 'muted until 2026-01-04 00:00 Europe/Berlin by muteWindows[1]'],
  [
    'a group',
    { ...GROUPED, next_at: worldTime(30_000) },
    reader({
      notifications: [
        { id: 'silent', muteWindows: [], grouping: { fields: ['team', 'host'], waitMs: 1, intervalMs: 1 } },
      ],
    }),
    'grouped until 00:00:30 UTC with what else agrees in team, host',
  ],
  [
    'a group whose time is over',
    { ...GROUPED, next_at: worldTime(-1) },
    reader(),
    'its group is about to be sent',
  ],
  [
    'an inhibition, which outlasts a mute window',
    { ...GROUPED, inhibited_for: 'edge' },
    muting,
    "pipeline 'edge' is unreachable, and target 'hook' was notified; it is sent if its incident outlasts that",
  ],
  [
    'a silence, which outlasts a mute window',
    { ...GROUPED, silenced_by: 'upgrade', next_at: worldTime(60_000) },
    muting,
    "silenced until 00:01:00 UTC by silence 'upgrade'",
  ],
  [
    'a removed target',
    {},
    reader({ targets: [] }),
    "target 'hook' was removed; the alarm goes to the targets of its notification that have nothing of its incident",
  ],
])('names %s, and until when or until what', (_, change, read, because) => {
  expect(heldOf(row(change), read)?.because).toBe(because);
});

function worldTime(ms: number): number {
  return Date.UTC(2026, 0, 1) + ms;
}

it('lets an end pass a mute window', () => {
  expect(heldOf(row({ ...GROUPED, status: 'OK', next_at: null }), muting)?.because).toBe(
    'its group is about to be sent',
  );
});

/** A situation for each reason for which a queue waits, with its text; what is made waits for it. */
const QUEUES: {
  readonly [Kind in Exclude<QueueHold['kind'], 'not-led'>]: () => Promise<
    readonly [DeliveryRow | undefined, string]
  >;
} = {
  async behind() {
    world.dispatcher.configure([world.target('hook', () => RETRY)]);
    const alarm = await world.commit(opening());
    const end = await world.commit(closing(alarm));
    await until(async () => (await world.stored(alarm)).attempts === 1);
    const [first] = alarm.operation.deliveries;
    return [
      end.operation.deliveries[0],
      `behind delivery ${first?.id} of the same subject, which is tried at 00:00:05 UTC`,
    ];
  },
  async paused() {
    world.dispatcher.configure([world.target('hook', () => PAUSE)]);
    const first = await world.commit(opening({ subject: 'a' }));
    await until(async () => (await world.stored(first)).attempts === 1);
    const second = await world.commit(opening({ subject: 'b' }));
    return [second.operation.deliveries[0], 'its receiver requested a pause until 00:00:20 UTC'];
  },
  async 'over-quota'() {
    world.controls.perMinute = 1;
    world.dispatcher.configure([world.target('hook', () => SENT)]);
    await world.settled(await world.commit(opening({ subject: 'a' })), 'sent');
    const second = await world.commit(opening({ subject: 'b' }));
    return [second.operation.deliveries[0], 'the workspace has begun the 1 deliveries'];
  },
  async paced() {
    world.dispatcher.configure([world.target('hook', () => SENT, 5, { pacing: rate.parse('1/minute') })]);
    await world.settled(await world.commit(opening({ subject: 'a' })), 'sent');
    const second = await world.commit(opening({ subject: 'b' }));
    return [second.operation.deliveries[0], 'paced at 1/minute: the next may be sent at 00:01:00 UTC'];
  },
  async busy() {
    world.dispatcher.configure([world.target('hook', late, 1)]);
    await world.commit(opening({ subject: 'a' }));
    await until(() => world.received.length === 1);
    const second = await world.commit(opening({ subject: 'b' }));
    return [second.operation.deliveries[0], 'as many requests are in flight as concurrency allows'];
  },
};

it.each(Object.entries(QUEUES))('says why a queue waits: %s', async (_, arrange) => {
  const [delivery, because] = await arrange();
  if (delivery === undefined) throw new Error('no delivery was made');
  await until(() => heldOf(delivery, reader())?.because.startsWith(because) === true, because);
});

it('says that as many requests are in flight as all targets may have', async () => {
  world.controls.concurrency = 0;
  world.dispatcher.configure([world.target('hook', late)]);
  await world.commit(opening({ subject: 'a' }));
  const second = await world.commit(opening({ subject: 'b' }));
  await until(() => world.dispatcher.hold('hook')?.kind === 'busy');
  expect(heldOf(second.operation.deliveries[0] ?? row(), reader())?.because).toBe(
    'as many requests are in flight as delivery.concurrency allows',
  );
});

it('says while no process leads that this is what is waited for, unless its schedule holds it longer', () => {
  const notLed = { ...reader(), hold: () => ({ kind: 'not-led' as const }) };
  const now = world.clock.now();
  expect(heldOf(row({ next_at: now }), notLed)?.because).toBe(
    'no process leads at the moment; it is sent once one does',
  );
  expect(heldOf(row({ next_at: now + 1000 }), notLed)).toBeUndefined();
});

it('says nothing of one that is being sent, nor of one that waits for its next attempt', async () => {
  let isDown = true;
  world.dispatcher.configure([world.target('hook', () => (isDown ? RETRY : late()))]);
  const made = await world.commit(opening());
  await until(async () => (await world.stored(made)).attempts === 1);
  expect(heldOf(await world.stored(made), reader())).toBeUndefined();
  isDown = false;
  await world.clock.advance(5000);
  await until(() => world.received.length === 2);
  expect(heldOf(await world.stored(made), reader())).toBeUndefined();
});

it('has a reason for every state in which a delivery is held, and for none in which it is settled', () => {
  const held = DELIVERY_STATES.filter(state => heldOf(row({ state }), reader({ targets: [] })) !== undefined);
  expect(held).toEqual(['waiting', 'grouped']);
});
