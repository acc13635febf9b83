import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Bench, startBench } from '../../test/helpers/monitor.ts';

/**
 * Pushes, against a model that keeps every sample and reckons from the start each time. Two senders have two
 * inputs each, which begin at some time; they count, restart, send again what they sent, send late, and their clocks
 * step both ways, while the wall clock of Headgate does too.
 */
const IDS = ['a', 'b'];
const SENDERS = ['h1', 'h2'];
const WINDOW_MS = 60_000;
const PART_MS = WINDOW_MS / 60;

interface Push {
  readonly sender: string;
  readonly time: number;
  readonly values: ReadonlyMap<string, number>;
  /** Monotonic ms of arrival, and whether it came at all. */
  readonly at: number;
}

const sender = fc.constantFrom(...SENDERS);
const id = fc.constantFrom(...IDS);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('count' as const), sender, id, by: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), sender }) },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('push' as const), sender, afterMs: fc.nat(25_000) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('again' as const), index: fc.nat(10) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('sender clock' as const),
      sender,
      by: fc.integer({ min: -1e9, max: 1e9 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('clock' as const), by: fc.integer({ min: -1e9, max: 1e9 }) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

interface Increase {
  readonly at: number;
  readonly by: number;
}

/** The increases that each push added to an input; undefined when none named it. */
function increasesOf(wanted: string, pushes: readonly Push[]): Increase[] | undefined {
  const named = pushes.filter(({ values }) => values.has(wanted));
  if (named.length === 0) return undefined;
  return SENDERS.flatMap(one =>
    increasesOfSender(
      wanted,
      pushes.filter(push => push.sender === one),
    ),
  );
}

/** Two pushes, one after the other, whose times advance as our clock does. */
const keepsPace = (one: Push, next: Push): boolean =>
  next.at - one.at >= 1000 && Math.abs(next.time - one.time - (next.at - one.at)) <= 2000;

function increasesOfSender(wanted: string, pushes: readonly Push[]): Increase[] {
  const last = new Map<string, { value: number; time: number }>();
  let isRepeated = false;
  /** The last push that was dated before what was known and below it, and whether the sender's clock was set back. */
  let dated: { index: number; push: Push; isClock: boolean } | undefined;
  return pushes.flatMap((push, index) => {
    const { values, time, at } = push;
    isRepeated ||= [...values.keys()].some(key => last.has(key));
    const isDatedBefore = [...values].some(([key, value]) => {
      const before = last.get(key);
      return before !== undefined && time < before.time && value < before.value;
    });
    if (isDatedBefore) {
      const follows = dated !== undefined && (dated.isClock || dated.index === index - 1);
      dated = { index, push, isClock: follows && dated !== undefined && keepsPace(dated.push, push) };
    }
    const increases: Increase[] = [];
    for (const [key, value] of values) {
      const before = last.get(key);
      const isPast = before !== undefined && time <= before.time;
      const isNow = isDatedBefore && time !== before?.time && dated?.isClock === true;
      if (isPast && (value === before.value || (value < before.value && !isNow))) continue;
      last.set(key, { value, time });
      const start = before === undefined || value < before.value ? 0 : before.value;
      if (key === wanted) increases.push({ at, by: before === undefined && !isRepeated ? 0 : value - start });
    }
    return increases;
  });
}

const sum = (increases: readonly Increase[], from: number): number =>
  increases.reduce((total, { at, by }) => (at >= from ? total + by : total), 0);

/** `watchedSince`: when a window on each input was first used. */
function compare(bench: Bench, pushes: readonly Push[], watchedSince: Map<string, number>): void {
  const now = bench.clock.monotonic();
  for (const one of IDS) {
    const increases = increasesOf(one, pushes);
    const found = bench.monitor.components.all().find(({ engineId }) => engineId === one);
    expect(found === undefined).toBe(increases === undefined);
    if (found === undefined || increases === undefined) continue;
    const { metrics, silentMs } = bench.monitor.components.status(found);
    expect(metrics.in_events).toBe(sum(increases, 0));
    const lastData = increases
      .filter(({ by }) => by > 0)
      .reduce<number>((at, one) => Math.max(at, one.at), -1);
    if (lastData >= 0) expect(silentMs).toBe(now - lastData);
    const measured = bench.monitor.components.measure(found, 'in_events', WINDOW_MS)?.sum ?? Number.NaN;
    const since = watchedSince.get(one);
    if (since === undefined) watchedSince.set(one, now);
    const watched = since === undefined ? [] : increases.filter(({ at }) => at > since);
    expect(measured).toBeGreaterThanOrEqual(sum(watched, now - WINDOW_MS + PART_MS) - 1e-6);
    expect(measured).toBeLessThanOrEqual(sum(watched, now - WINDOW_MS - PART_MS) + 1e-6);
  }
}

async function play(bench: Bench, steps: readonly Step[]): Promise<void> {
  const counters = new Map(SENDERS.map(one => [one, new Map<string, number>()]));
  const skew = new Map(SENDERS.map(one => [one, 0]));
  const pushes: Push[] = [];
  const watchedSince = new Map<string, number>();

  function send(push: Omit<Push, 'at'>): void {
    pushes.push({ ...push, at: bench.clock.monotonic() });
    void bench.monitor.ingestSamples('own', {
      instance: push.sender,
      time: push.time,
      samples: [...push.values].map(([name, value]) => ({
        kind: 'input',
        id: name,
        metric: 'in_events',
        value,
      })),
    });
  }

  for (const one of steps) {
    if (one.kind === 'count') {
      const own = counters.get(one.sender);
      own?.set(one.id, (own.get(one.id) ?? 0) + one.by);
    } else if (one.kind === 'restart') counters.get(one.sender)?.clear();
    else if (one.kind === 'clock') bench.clock.step(one.by);
    else if (one.kind === 'sender clock') skew.set(one.sender, (skew.get(one.sender) ?? 0) + one.by);
    else if (one.kind === 'again') {
      const before = pushes[one.index];
      // At one instant with others it would not be known which came first.
      await bench.clock.advance(1);
      if (before !== undefined) send(before);
    } else {
      await bench.clock.advance(one.afterMs + 1);
      const time = 2e12 + bench.clock.monotonic() + (skew.get(one.sender) ?? 0);
      send({ sender: one.sender, time: Math.floor(time), values: new Map(counters.get(one.sender)) });
    }
    compare(bench, pushes, watchedSince);
  }
}

it('agrees with a model that keeps every sample, whatever is sent again, late or by a clock that steps', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
      const bench = await startBench({ id: 'own', engine: 'custom', push: true, token: 'custom token' });
      try {
        await play(bench, steps);
      } finally {
        await bench.monitor.stop();
      }
    }),
    { numRuns: 200 },
  );
});
