import * as z from 'zod';
import type { Slices } from '../../lib/slices.ts';
import { notThat, readPage, type Stat, StatList, type Stats } from '../parsers/json-page.ts';
import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

const pluginRule = (kind: 'input' | 'output', place: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^${kind}s\\.${place}$`),
  kind,
  id: 'id',
  within: 'pipeline',
  type: 'name',
  meaning,
});

/** A pipeline has one queue, between its inputs and its outputs: it counts for both. */
const queueRules = (kind: 'input' | 'output'): ProfileRule[] => [
  pluginRule(kind, 'queue\\.queue_size_in_bytes', gauge('queue_bytes', 'last')),
  pluginRule(kind, 'queue\\.max_queue_size_in_bytes', gauge('queue_capacity_bytes', 'last')),
  pluginRule(kind, 'status', gauge('up', 'last')),
];

/**
 * Logstash's node stats. An input that waits to put events into the queue is held up by what comes after it. An output
 * that is stuck counts nothing but what it holds. There are no bytes, and a plugin without `id` has another one after
 * each change of its pipeline.
 */
export const logstash = defineProfile({
  engine: 'logstash',
  metricsPath: '/_node/stats',
  createReader: () => readLogstash,
  rules: [
    pluginRule('input', 'events\\.out', counter('in_events')),
    pluginRule(
      'input',
      'events\\.queue_push_duration_in_millis',
      gauge('blocked', 'max', { reads: 'ratio' }),
    ),
    ...queueRules('input'),
    pluginRule('output', 'events\\.out', counter('out_events')),
    pluginRule('output', 'events\\.pending', gauge('queue_size', 'last')),
    pluginRule('output', 'documents\\.(?:(?:non_)?retryable_failures|dlq_routed)', counter('errors')),
    pluginRule('output', 'bulk_requests\\.failures', counter('errors')),
    pluginRule('output', 'dead_letter_queue\\.dropped_events', counter('dropped')),
    ...queueRules('output'),
  ],
});

const EXPECTED = "Logstash's node stats";
const count = z.number().min(0).optional();
const name = z.string().min(1).max(512);

const events = z.object({ in: count, out: count, queue_push_duration_in_millis: count });
const plugin = z.object({
  id: name,
  name,
  events: events.nullish(),
  documents: z
    .object({ non_retryable_failures: count, retryable_failures: count, dlq_routed: count })
    .nullish(),
  bulk_requests: z.object({ failures: count }).nullish(),
});
type Plugin = z.output<typeof plugin>;

const pipeline = z.object({
  ephemeral_id: z.string().max(128).nullish(),
  plugins: z.object({ inputs: z.array(z.unknown()).nullish(), outputs: z.array(z.unknown()).nullish() }),
  queue: z.object({ queue_size_in_bytes: count, max_queue_size_in_bytes: count }).nullish(),
  dead_letter_queue: z.object({ dropped_events: count }).nullish(),
});
type Pipeline = z.output<typeof pipeline>;

const page = z.object({
  status: z.string().nullish(),
  ephemeral_id: z.string().max(128).nullish(),
  // Which may have a hundred thousand entries, so that each is looked at by itself.
  pipelines: z.custom<Readonly<Record<string, unknown>>>(
    value => typeof value === 'object' && value !== null && !Array.isArray(value),
  ),
});

const isName = (id: string): boolean => name.safeParse(id).success;

/**
 * Logstash's `/_node/stats` or `/_node/stats/pipelines`: `inputs.*` and `outputs.*` with the labels `pipeline`, `id` and
 * `name`, each named by its place in a plugin. A pipeline's queue and what its dead letter queue dropped count for its
 * plugins, which have none of their own. A reloaded pipeline has another `ephemeral_id`, so its counters have another
 * incarnation. Throws `invalid-request` for a page that is something else.
 */
export function* readLogstash(text: string): Slices<Stats> {
  const found = page.safeParse(yield* readPage(text, EXPECTED));
  if (!found.success) throw notThat(EXPECTED, 'it lists no pipelines; set url to …/_node/stats');
  const { pipelines, status, ephemeral_id: node } = found.data;
  const own = Object.entries(pipelines).filter(([id, value]) => !id.startsWith('.') && isPresent(value));
  // The status is that of the node: it blames one pipeline only where there is no other.
  const up = own.length === 1 && status === 'red' ? 0 : undefined;
  const list = new StatList();
  for (const [id, value] of own) {
    yield* list.next();
    const one = pipeline.safeParse(value);
    if (one.success && isName(id))
      yield* addPipeline(list, { id, up, incarnation: one.data.ephemeral_id ?? node ?? '' }, one.data);
    else list.bad++;
  }
  const { stats, bad } = list;
  if (stats.length === 0 && bad > 0) throw notThat(EXPECTED, 'none of its plugins can be read');
  return { stats, bad, listed: own.length };
}

/** A pipeline that has ended may be listed without anything in it. */
const isPresent = (value: unknown): boolean =>
  typeof value !== 'object' || (value !== null && Object.keys(value).length > 0);

interface PluginContext {
  readonly id: string;
  readonly up: number | undefined;
  readonly incarnation: string;
}

type StatOf = Pick<Stat, 'labels' | 'incarnation'>;

function* addPipeline(list: StatList, { id, up, incarnation }: PluginContext, parsed: Pipeline): Slices {
  function* each(plugins: readonly unknown[], add: (one: Plugin, of: StatOf) => void): Slices {
    for (const value of plugins) {
      yield* list.next();
      const one = plugin.safeParse(value);
      if (!one.success) {
        list.bad++;
        continue;
      }
      const labels = new Map([
        ['pipeline', id],
        ['id', one.data.id],
        ['name', one.data.name],
      ]);
      add(one.data, { labels, incarnation });
    }
  }
  yield* each(parsed.plugins.inputs ?? [], (one, of) => {
    list.add('inputs.events.out', one.events?.out, of);
    list.add('inputs.events.queue_push_duration_in_millis', one.events?.queue_push_duration_in_millis, of);
    addQueue(list, 'inputs', parsed, of);
    list.add('inputs.status', up, of);
  });
  yield* each(parsed.plugins.outputs ?? [], (one, of) => {
    list.add('outputs.events.out', one.events?.out, of);
    list.add('outputs.events.pending', pendingIn(one), of);
    list.add('outputs.documents.non_retryable_failures', one.documents?.non_retryable_failures, of);
    list.add('outputs.documents.retryable_failures', one.documents?.retryable_failures, of);
    list.add('outputs.documents.dlq_routed', one.documents?.dlq_routed, of);
    list.add('outputs.bulk_requests.failures', one.bulk_requests?.failures, of);
    // Only outputs that index documents write to the dead letter queue.
    if (one.documents)
      list.add('outputs.dead_letter_queue.dropped_events', parsed.dead_letter_queue?.dropped_events, of);
    addQueue(list, 'outputs', parsed, of);
    list.add('outputs.status', up, of);
  });
}

/** Events that went in and did not come out: an output that is stuck has a batch in it, and counts nothing else. */
function pendingIn({ events }: Plugin): number | undefined {
  const { in: taken, out } = events ?? {};
  return typeof taken === 'number' && typeof out === 'number' ? Math.max(0, taken - out) : undefined;
}

/** A queue in memory reports no size, and a maximum of 0. */
function addQueue(list: StatList, kind: 'inputs' | 'outputs', { queue }: Pipeline, of: StatOf): void {
  const most = queue?.max_queue_size_in_bytes ?? 0;
  if (most <= 0) return;
  list.add(`${kind}.queue.queue_size_in_bytes`, queue?.queue_size_in_bytes, of);
  list.add(`${kind}.queue.max_queue_size_in_bytes`, most, of);
}
