import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { idsAtOnce } from '../../../test/helpers/component-ids.ts';
import { NO_FILES } from '../../../test/helpers/monitor.ts';
import { testPages } from '../../../test/helpers/pages.ts';
import { handOver } from '../../../test/helpers/points.ts';
import { silentLogger } from '../../lib/logger.ts';
import { atOnce } from '../../lib/slices.ts';
import { createCardinalityLimit } from '../components/limits.ts';
import { createComponentRegistry } from '../components/registry.ts';
import { measure } from '../components/state.ts';
import { customProfile } from '../engines/custom.ts';
import { ruleLookup } from '../engines/profile.ts';
import { createMonitor } from '../monitor.ts';
import { createTextPageReader } from '../scrape/page-reader.ts';
import { createSeriesStore } from '../series/series-store.ts';
import { pipelineSchema } from '../settings.ts';
import { snapshotFile } from '../snapshot/file.ts';
import { alternates } from './alternation.ts';
import { createIngester } from './ingester.ts';
import { createScrapeSource } from './source.ts';

/**
 * Simulated processes, read and pushing through what stands between them and Headgate. What is counted is what was truly
 * counted, or less or more by what docs/reference/counters.md says of the history that was played.
 */
const START = Date.UTC(2026, 0, 1);
const INTERVAL_MS = 10_000;
const HOUR = 3_600_000;
const IDS = ['a', 'b'] as const;
type Id = (typeof IDS)[number];
type Counts = Record<Id, number>;

/** A clock without timers, as nothing here waits. */
function handClock() {
  const time = { wall: START, mono: 1000 };
  return {
    now: () => time.wall,
    monotonic: () => time.mono,
    uptime: () => time.mono,
    unobservedMs: () => 0,
    after: () => () => {},
    sleep: () => new Promise<void>(() => {}),
    stop: async () => {},
    pass(ms: number): void {
      time.wall += ms;
      time.mono += ms;
    },
    step(ms: number): void {
      time.wall += ms;
    },
  };
}

/** A page that is read, down to what is counted of its inputs. */
function openReader() {
  const clock = handClock();
  const registry = createComponentRegistry({ clock, limit: 100, ids: idsAtOnce() });
  const store = createSeriesStore(100);
  const ingester = createIngester({ clock, registry, store });
  const profile = customProfile([{ match: '^in$', id: 'id', kind: 'input', metric: 'in_events' }]);
  const readPage = createTextPageReader({ profile, rulesOf: ruleLookup(profile), ingester });
  const limit = createCardinalityLimit({
    limits: { maxComponents: 100, maxSeries: 100 },
    clock,
    logger: silentLogger,
    refused: () => {},
  });
  const pipeline = { pipeline: 'edge', group: 'default', engine: 'custom' };
  const source = createScrapeSource('h:1', { pipeline, limit, partial: false, noted: () => {} }, store);
  const stateOf = (id: Id) => {
    const component = registry.all().find(({ engineId }) => engineId === id);
    return component && registry.stateOf(component);
  };
  return {
    clock,
    read: (page: string) => void atOnce(readPage(source, Buffer.from(page), false)),
    counted: (id: Id) => stateOf(id)?.totals[0] ?? 0,
    inWindow(id: Id, ms: number): number {
      const state = stateOf(id);
      return (state && measure(state, 'in_events', ms, clock.monotonic())?.sum) ?? 0;
    },
    isAlternating: () =>
      [...source.instances.values()].some(one => alternates(one.alternation, one.readings)),
  };
}

/** The page of a process, its lines stamped with its own time. */
const pageOf = (counts: Counts, { time, start }: { time: number; start?: number | undefined }): string =>
  IDS.map(id => `in{id="${id}"} ${counts[id]} ${time}\n`)
    .join('')
    .concat(start === undefined ? 'other 1\n' : `process_start_time_seconds ${start / 1000}\n`);

const id = fc.constantFrom(...IDS);
const count = fc.record({ kind: fc.constant('count' as const), id, by: fc.nat(1000) });
const only = <Kind extends string>(kind: Kind) => fc.record({ kind: fc.constant(kind) });
const clockStep = fc.record({
  kind: fc.constant('clock' as const),
  by: fc.integer({ min: -2 * HOUR, max: 2 * HOUR }),
});

describe('a process whose page is read', () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: count },
    { weight: 6, arbitrary: only('read') },
    { weight: 1, arbitrary: only('restart') },
    { weight: 1, arbitrary: only('boot without a clock') },
    { weight: 1, arbitrary: clockStep },
    { weight: 1, arbitrary: only('our clock steps') },
    { weight: 1, arbitrary: only('unread') },
    { weight: 1, arbitrary: only('frozen page') },
    { weight: 1, arbitrary: only('empty page') },
  );

  it.each([
    ['that shows its start', true],
    ['that shows no time but that of its lines', false],
  ])('%s is counted as it counted, but for restarts behind values that grew', (_, showsStart) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        const reader = openReader();
        const { clock } = reader;
        let counts: Counts = { a: 50, b: 5000 };
        let skew = 0;
        let begunMono = clock.monotonic() - 24 * HOUR;
        const truth: Counts = { a: 0, b: 0 };
        let less: Counts = { a: 0, b: 0 };
        const more: Counts = { a: 0, b: 0 };
        let page = pageOf(counts, { time: START, start: showsStart ? START - 24 * HOUR : undefined });
        reader.read(page);
        let last: Counts = { ...counts };
        let uncounted: Counts = { a: 0, b: 0 };
        let restarted = false;
        let clockMoved = false;
        const own = (): number => clock.now() + skew;
        for (const one of steps) {
          if (one.kind === 'count') {
            counts[one.id] += one.by;
            uncounted[one.id] += one.by;
          } else if (one.kind === 'clock') {
            skew += one.by;
            clockMoved = true;
          } else if (one.kind === 'our clock steps') {
            clock.step(-HOUR);
            skew += HOUR;
            clockMoved = true;
          } else if (one.kind === 'restart' || one.kind === 'boot without a clock') {
            // What it counted since the last reading is known to nobody.
            counts = { a: 0, b: 0 };
            uncounted = { a: 0, b: 0 };
            begunMono = clock.monotonic();
            restarted = true;
            if (one.kind === 'boot without a clock') skew -= HOUR;
          } else {
            clock.pass(INTERVAL_MS);
            if (one.kind === 'unread') continue;
            if (one.kind === 'frozen page') reader.read(page);
            else if (one.kind === 'empty page') reader.read('other 1\n');
            else {
              const start = own() - (clock.monotonic() - begunMono);
              page = pageOf(counts, { time: own(), start: showsStart ? start : undefined });
              reader.read(page);
              for (const each of IDS) {
                const before = last[each];
                truth[each] += uncounted[each];
                if (restarted && counts[each] >= before) less[each] += before;
                if (showsStart && clockMoved) more[each] += before;
              }
              last = { ...counts };
              uncounted = { a: 0, b: 0 };
              restarted = false;
              clockMoved = false;
            }
          }
          if (!reader.isAlternating())
            for (const each of IDS) {
              expect(reader.counted(each)).toBeLessThanOrEqual(truth[each] + more[each]);
              expect(reader.counted(each)).toBeGreaterThanOrEqual(truth[each] - less[each]);
            }
          else less = { a: Number.POSITIVE_INFINITY, b: Number.POSITIVE_INFINITY };
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is counted exactly where its page shows starts of a steady clock, whatever else happens', () => {
    const steady = fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant('count' as const), by: fc.nat(1000) }) },
      { weight: 6, arbitrary: only('read') },
      { weight: 2, arbitrary: only('restart') },
      { weight: 1, arbitrary: only('unread') },
    );
    fc.assert(
      fc.property(fc.array(steady, { maxLength: 60 }), steps => {
        const reader = openReader();
        const { clock } = reader;
        // The second counter counts little, so it falls with every restart.
        let counts: Counts = { a: 0, b: 1000 };
        let begunAt = clock.now() - HOUR;
        let [known, uncounted] = [0, 0];
        reader.read(pageOf(counts, { time: clock.now(), start: begunAt }));
        for (const one of steps) {
          if (one.kind === 'count') {
            counts.a += one.by;
            uncounted += one.by;
            continue;
          }
          clock.pass(INTERVAL_MS);
          if (one.kind === 'restart') {
            reader.read(pageOf(counts, { time: clock.now(), start: begunAt }));
            known += uncounted;
            uncounted = 0;
            clock.pass(INTERVAL_MS);
            counts = { a: 0, b: Math.max(0, counts.b - 1) };
            begunAt = clock.now();
          } else if (one.kind === 'read') {
            reader.read(pageOf(counts, { time: clock.now(), start: begunAt }));
            known += uncounted;
            uncounted = 0;
          }
          expect(reader.counted('a')).toBe(known);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('adds one reading at most where a page that was older is shown once', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { minLength: 4, maxLength: 40 }), fc.nat(), (increases, at) => {
        const reader = openReader();
        const counts: Counts = { a: 100_000, b: 0 };
        const pages = increases.map(by => {
          counts.a += by;
          return { page: pageOf(counts, { time: START }), value: counts.a };
        });
        const shown = 2 + (at % (pages.length - 2));
        pages.forEach(({ page }, index) => {
          reader.clock.pass(INTERVAL_MS);
          if (index === shown) reader.read(pages[index - 2]?.page ?? page);
          reader.read(page);
        });
        const truth = (pages.at(-1)?.value ?? 0) - (pages[0]?.value ?? 0);
        const excess = reader.counted('a') - truth;
        expect(excess).toBeGreaterThanOrEqual(0);
        expect(excess).toBeLessThanOrEqual(pages[shown - 1]?.value ?? 0);
      }),
    );
  });
});

describe('processes behind one address', () => {
  it('are seen when they answer in turn, after two readings at most, three of more than two processes', () => {
    const answers = fc.array(fc.record({ pick: fc.nat(59), by: fc.nat(50) }), {
      minLength: 30,
      maxLength: 80,
    });
    const stoodAt = fc.uniqueArray(fc.integer({ min: 1000, max: 1e7 }), { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(answers, stoodAt, fc.boolean(), (steps, before, isInTurn) => {
        const reader = openReader();
        const values = [...before];
        let [truth, falls, last] = [0, 0, 0];
        let wasSeen = false;
        for (const [at, { pick, by }] of steps.entries()) {
          const process = (isInTurn ? at : pick) % values.length;
          const value = (values[process] ?? 0) + by;
          reader.clock.pass(INTERVAL_MS);
          values[process] = value;
          truth += by;
          if (value < last) falls++;
          last = value;
          reader.read(pageOf({ a: value, b: 0 }, { time: START }));
          wasSeen ||= reader.isAlternating();
          const most = values.length === 2 ? 2 : 3;
          if (!wasSeen) expect(reader.counted('a')).toBeLessThanOrEqual(truth + most * Math.max(...values));
        }
        if (falls >= steps.length / 5) expect(wasSeen).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

describe('processes behind one address that show when they began', () => {
  const process = fc.record({
    stoodAt: fc.oneof(fc.constant(0), fc.nat(1e6)),
    began: fc.integer({ min: 1, max: 500 }),
  });
  const answers = fc.array(fc.record({ by: fc.nat(50), pick: fc.nat(4) }), { minLength: 10, maxLength: 80 });

  it('are seen as soon as one comes again with a counter that fell, and count once each and one reading at most before', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(process, { minLength: 2, maxLength: 5, selector: ({ began }) => began }),
        answers,
        (processes, steps) => {
          const reader = openReader();
          const values = processes.map(({ stoodAt }) => stoodAt);
          const met = new Set<number>();
          let [truth, before] = [0, -1];
          for (const { by, pick } of steps) {
            const at = pick % processes.length;
            reader.clock.pass(INTERVAL_MS);
            const fell = before !== -1 && (values[at] ?? 0) + by < (values[before] ?? 0);
            values[at] = (values[at] ?? 0) + by;
            truth += by;
            const start = START - (processes[at]?.began ?? 0) * 60_000;
            reader.read(pageOf({ a: values[at] ?? 0, b: 0 }, { time: START, start }));
            if (fell && met.has(at)) expect(reader.isAlternating()).toBe(true);
            met.add(at);
            before = at;
          }
          const all = values.reduce((sum, value) => sum + value, 0);
          expect(reader.counted('a')).toBeLessThanOrEqual(truth + all + Math.max(...values));
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** A sender of pushes. */
function openPushes() {
  const clock = handClock();
  const rejected: string[] = [];
  const monitor = createMonitor({
    http: testPages(),
    clock,
    logger: silentLogger,
    snapshot: snapshotFile('/nonexistent'),
    ids: idsAtOnce(),
    files: NO_FILES,
    meter: { scrapeFailed: () => {}, refused: () => {}, rejected: (_, why) => void rejected.push(why) },
  });
  monitor.configure([
    pipelineSchema.parse({ id: 'edge', engine: 'otelcol', push: true, token: 'token of edge' }),
  ]);
  return {
    clock,
    rejected,
    push({ value, time, start, isDelta = false }: Sent): void {
      void monitor.ingestPoints(
        'edge',
        undefined,
        handOver([
          {
            name: 'otelcol_receiver_accepted_spans',
            labels: new Map([['receiver', 'otlp/a']]),
            instance: 'i-1',
            temporality: isDelta ? 'delta' : 'cumulative',
            value,
            time,
            start,
          },
        ]),
      );
    },
    seesSeveral: () => monitor.components.pipeline('edge')?.error?.includes('go back to where') === true,
    counted(): number {
      const [component] = monitor.components.all();
      return (component && monitor.components.status(component).metrics.in_events) ?? 0;
    },
  };
}

interface Sent {
  readonly value: number;
  readonly time: number;
  readonly start: number;
  readonly isDelta?: boolean;
}

/** How a push arrives: how many later ones overtake it, and how often it comes; 0 is lost. */
const fate = fc.record({
  behind: fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }) },
  ),
  times: fc.oneof(
    { weight: 8, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constant(2) },
  ),
});

/** The order in which pushes arrive, with when each was sent. */
function arrivals<One>(sent: readonly { one: One; behind: number; times: number }[]): One[] {
  return sent
    .flatMap(({ one, behind, times }, at) =>
      Array.from({ length: times }, (_, again) => ({ one, at: at + behind + again * 2 + behind / 10 })),
    )
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}

describe('a sender that pushes totals', () => {
  const life = fc.array(fc.record({ by: fc.integer({ min: 1, max: 1000 }), fate }), {
    minLength: 1,
    maxLength: 12,
  });

  it('is counted exactly while it does not restart, however pushes are lost, late and repeated, and whatever middlemen say of its start', () => {
    const starts = fc.constantFrom('none', 'its own', 'of a middleman that restarts', 'the time of each');
    fc.assert(
      fc.property(life, starts, (pushes, kind) => {
        const sender = openPushes();
        let value = 7_000_000;
        const sent = pushes.map(({ by, fate: { behind, times } }, at) => {
          value += by;
          const time = START + at * INTERVAL_MS;
          const start =
            kind === 'none'
              ? Number.NaN
              : kind === 'its own'
                ? START - HOUR
                : kind === 'the time of each'
                  ? time
                  : START + Math.floor(at / 4) * 4 * INTERVAL_MS - 5;
          return { one: { value, time, start }, behind, times };
        });
        const order = arrivals(sent);
        for (const one of order) {
          sender.clock.pass(100);
          sender.push(one);
        }
        const [first] = order;
        const most = order.reduce((known, one) => Math.max(known, one.value), first?.value ?? 0);
        expect(sender.counted()).toBe(most - (first?.value ?? 0));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['with starts', true],
    ['without starts', false],
  ])('restarts %s, steps its clock, and is counted up to one reading for each restart', (_, showsStart) => {
    const lives = fc.array(fc.record({ pushes: life, clockBy: fc.integer({ min: -2 * HOUR, max: HOUR }) }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(lives, all => {
        const sender = openPushes();
        let [skew, known, less, last] = [0, 0, 0, 0];
        let isFirst = true;
        for (const { pushes, clockBy } of all) {
          const start = sender.clock.now() + skew;
          let value = 0;
          let first: number | undefined;
          for (const { by } of pushes) {
            value += by;
            sender.clock.pass(INTERVAL_MS);
            sender.push({ value, time: sender.clock.now() + skew, start: showsStart ? start : Number.NaN });
            first ??= value;
          }
          known += isFirst ? value - (first ?? 0) : value;
          // It counted past where the one before stood before it was heard again, or was heard only once by a clock set back.
          if (!isFirst) less += last + (pushes.length < 3 ? value : 0);
          isFirst = false;
          last = Math.max(value, last);
          skew += clockBy;
          if (sender.seesSeveral()) less = Number.POSITIVE_INFINITY;
          expect(sender.counted()).toBeLessThanOrEqual(known);
          expect(sender.counted()).toBeGreaterThanOrEqual(known - less);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('adds one reading at most where a push of before a restart comes after it', () => {
    fc.assert(
      fc.property(life, life, fc.boolean(), (one, other, showsStart) => {
        const sender = openPushes();
        const play = (pushes: typeof one, from: number): { value: number; time: number; start: number }[] => {
          let value = 0;
          return pushes.map(({ by }, at) => {
            value += by;
            return { value, time: from + (at + 1) * INTERVAL_MS, start: showsStart ? from : Number.NaN };
          });
        };
        const before = play(one, START);
        const after = play(other, START + HOUR);
        const late = before.pop();
        for (const each of [...before, ...after.slice(0, 1), ...(late ? [late] : []), ...after.slice(1)]) {
          sender.clock.pass(100);
          sender.push(each);
        }
        const truth = (late?.value ?? 0) + (after.at(-1)?.value ?? 0);
        expect(sender.counted()).toBeLessThanOrEqual(truth + (late?.value ?? 0));
      }),
      { numRuns: 300 },
    );
  });
});

describe('a sender that pushes increases', () => {
  const pushes = fc.array(
    fc.record({ by: fc.integer({ min: 1, max: 1000 }), fate, stretch: fc.constantFrom(0, 0, 0, 0, 5000) }),
    { maxLength: 50 },
  );

  it('is counted exactly, lost ones and those of which the answer says that they are rejected left out', () => {
    fc.assert(
      fc.property(pushes, fc.boolean(), (all, showsStart) => {
        const sender = openPushes();
        const sent = all.map(({ by, stretch, fate: { behind, times } }, at) => ({
          one: {
            value: by,
            time: START + (at + 1) * INTERVAL_MS,
            start: showsStart ? START + at * INTERVAL_MS - stretch : Number.NaN,
            isDelta: true,
          },
          behind,
          times,
        }));
        let refused = 0;
        const taken = new Set<Sent>();
        for (const one of arrivals(sent)) {
          sender.clock.pass(100);
          const before = sender.rejected.length;
          sender.push(one);
          if (sender.rejected.length === before) taken.add(one);
          else refused++;
        }
        expect(sender.counted()).toBe([...taken].reduce((sum, { value }) => sum + value, 0));
        expect(sender.rejected).toHaveLength(refused);
        if (!showsStart || all.every(({ stretch }) => stretch === 0)) expect(refused).toBe(0);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a page that cannot be read, or shows nothing, now and then', () => {
  it('brings no more into a window than was counted within one, give or take a reading', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ length: fc.integer({ min: 1, max: 30 }), isEmpty: fc.boolean() }), {
          maxLength: 10,
        }),
        fc.constantFrom(60_000, 300_000),
        (gaps, ms) => {
          const reader = openReader();
          const [perReading, usual] = [1000, ms / INTERVAL_MS];
          const counts: Counts = { a: 0, b: 0 };
          const pass = (): void => {
            reader.clock.pass(INTERVAL_MS);
            counts.a += perReading;
          };
          const usually = { length: 1, isEmpty: false };
          const all = [usually, ...gaps.flatMap(gap => [usually, usually, gap, usually])];
          for (const { length, isEmpty } of all) {
            for (let unread = 1; unread < length; unread++) {
              pass();
              if (isEmpty) reader.read('other 1\n');
            }
            pass();
            reader.read(pageOf(counts, { time: START }));
            expect(reader.inWindow('a', ms)).toBeLessThanOrEqual((usual + 1.5) * perReading);
          }
          expect(reader.counted('a')).toBe(counts.a - perReading);
        },
      ),
      { numRuns: 200 },
    );
  });
});
