import * as z from 'zod';
import type { Slices } from '../../lib/slices.ts';
import { notThat, readPage, type Stat, StatList, type Stats } from '../parsers/json-page.ts';
import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

const rule = (kind: 'input' | 'output', place: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^${kind}\\.${place}$`),
  kind,
  id: 'id',
  type: 'type',
  meaning,
});

/**
 * Filebeat and the other Beats by their HTTP endpoint, those that Elastic Agent runs too. `/stats` shows the whole Beat
 * as one input and its output, `/inputs/` the inputs that count something. Events that failed are sent again; with them
 * their bytes are, so that the bytes written prove no delivery while events fail.
 */
export const filebeat = defineProfile({
  engine: 'filebeat',
  metricsPath: '/stats',
  createReader: () => readFilebeat,
  rules: [
    rule('input', 'events', counter('in_events')),
    rule('input', 'bytes', counter('in_bytes')),
    rule('input', 'failed', counter('errors')),
    rule('input', 'dropped', counter('dropped')),
    rule('output', 'acked', counter('out_events')),
    rule('output', 'write\\.bytes', counter('out_bytes')),
    rule('output', '(?:failed|write\\.errors)', counter('errors')),
    rule('output', '(?:failed|write\\.errors)', gauge('failing', 'max', { reads: 'grew' })),
    rule('output', '(?:dropped|dead_letter)', counter('dropped')),
    rule('output', 'queue\\.filled\\.events', gauge('queue_size', 'last')),
    rule('output', 'queue\\.max_events', gauge('queue_capacity', 'last')),
    rule('output', 'queue\\.filled\\.bytes', gauge('queue_bytes', 'last')),
    rule('output', 'queue\\.max_bytes', gauge('queue_capacity_bytes', 'last')),
  ],
});

const EXPECTED = "a Beat's statistics";
const MOST_INPUTS = 20_000;
const count = z.number().min(0).optional();
const name = z.string().min(1).max(512);

const beat = z.object({
  beat: z.object({
    info: z.object({ ephemeral_id: z.string().max(128).nullish(), name: name.nullish() }).nullish(),
  }),
  libbeat: z.object({
    output: z
      .object({
        type: name.nullish(),
        events: z.object({ acked: count, failed: count, dropped: count, dead_letter: count }).nullish(),
        write: z.object({ bytes: count, errors: count }).nullish(),
      })
      .nullish(),
    pipeline: z
      .object({
        events: z.object({ total: count, failed: count, dropped: count }).nullish(),
        queue: z
          .object({
            max_events: count,
            max_bytes: count,
            filled: z.object({ events: count, bytes: count }).nullish(),
          })
          .nullish(),
      })
      .nullish(),
  }),
});

const input = z.object({
  id: name,
  input: name,
  events_processed_total: count,
  events_published_total: count,
  received_events_total: count,
  bytes_processed_total: count,
  received_bytes_total: count,
  processing_errors_total: count,
});

/**
 * The page `/stats` or `/inputs/` of a Beat: values of `input` and `output` with the labels `type` and `id`. Another
 * process has another `ephemeral_id`. Throws `invalid-request` for a page that is something else.
 */
function* readFilebeat(text: string): Slices<Stats> {
  const value = yield* readPage(text, EXPECTED);
  if (Array.isArray(value)) return yield* readInputs(value);
  const found = beat.safeParse(value);
  if (!found.success) throw notThat(EXPECTED, 'it has no libbeat; set url to …/stats or …/inputs/');
  return { stats: statsOf(found.data), bad: 0, listed: 1 };
}

function statsOf({ beat: { info }, libbeat: { output, pipeline } }: z.output<typeof beat>): Stat[] {
  const list = new StatList();
  const of = (type: string, id: string): Pick<Stat, 'labels' | 'incarnation'> => ({
    labels: new Map([
      ['type', type],
      ['id', id],
    ]),
    incarnation: info?.ephemeral_id ?? '',
  });
  const whole = of('beat', info?.name ?? 'filebeat');
  list.add('input.events', pipeline?.events?.total, whole);
  list.add('input.failed', pipeline?.events?.failed, whole);
  list.add('input.dropped', pipeline?.events?.dropped, whole);
  const type = output?.type ?? 'output';
  const out = of(type, type);
  list.add('output.acked', output?.events?.acked, out);
  list.add('output.failed', output?.events?.failed, out);
  list.add('output.dropped', output?.events?.dropped, out);
  list.add('output.dead_letter', output?.events?.dead_letter, out);
  list.add('output.write.bytes', output?.write?.bytes, out);
  list.add('output.write.errors', output?.write?.errors, out);
  const { queue } = pipeline ?? {};
  list.add('output.queue.filled.events', queue?.filled?.events, out);
  list.add('output.queue.filled.bytes', queue?.filled?.bytes, out);
  list.add('output.queue.max_events', boundOf(queue?.max_events), out);
  list.add('output.queue.max_bytes', boundOf(queue?.max_bytes), out);
  return list.stats;
}

/** A queue that is not bounded in a unit shows 0 for it. */
const boundOf = (most: number | undefined): number | undefined => (most ? most : undefined);

function* readInputs(values: readonly unknown[]): Slices<Stats> {
  if (values.length > MOST_INPUTS) throw notThat(EXPECTED, `it lists more than ${MOST_INPUTS} inputs`);
  const list = new StatList();
  for (const value of values) {
    yield* list.next();
    const { success, data: one } = input.safeParse(value);
    if (!success) {
      list.bad++;
      continue;
    }
    const labels = new Map([
      ['type', one.input],
      ['id', one.id],
    ]);
    const of = { labels, incarnation: '' };
    const events = one.events_processed_total ?? one.events_published_total ?? one.received_events_total;
    list.add('input.events', events, of);
    list.add('input.bytes', one.bytes_processed_total ?? one.received_bytes_total, of);
    list.add('input.failed', one.processing_errors_total, of);
  }
  const { stats, bad } = list;
  return { stats, bad, listed: values.length };
}
