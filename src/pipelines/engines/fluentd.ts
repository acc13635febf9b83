import * as z from 'zod';
import type { Slices } from '../../lib/slices.ts';
import { type JsonReader, notThat, readPage, StatList } from '../parsers/json-page.ts';
import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

const pluginRule = (kind: 'input' | 'output', name: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^${kind}\\.${name}$`),
  kind,
  id: 'plugin_id',
  type: 'type',
  meaning,
});

/**
 * Plugins that hand events on within Fluentd, throw them away on purpose, or show metrics: nothing comes in or goes out
 * by them.
 */
export const INTERNAL_PLUGINS =
  /^(?:copy|roundrobin|relabel|label_router|route|rewrite_tag_filter|detect_exceptions|null|monitor_agent|prometheus\w*)$/;

const SPACE = 'buffer_available_buffer_space_ratios';

/**
 * Fluentd by its monitor_agent. `delivered_*` is what an output emitted, held back while it only fails: Fluentd counts
 * nothing as delivered. What it drops it counts in chunks. A plugin without `@id` has another id after each start.
 */
export const fluentd = defineProfile({
  engine: 'fluentd',
  metricsPath: '/api/plugins.json',
  createReader: () => createFluentdReader(),
  ignoresTypes: INTERNAL_PLUGINS,
  rules: [
    pluginRule('input', 'emit_records', counter('in_events')),
    pluginRule('input', 'emit_size', counter('in_bytes')),
    pluginRule('output', 'delivered_records', counter('out_events')),
    pluginRule('output', 'delivered_size', counter('out_bytes')),
    pluginRule('output', 'retry_count', counter('errors')),
    pluginRule('output', 'drop_oldest_chunk_count', counter('dropped')),
    pluginRule('output', 'retrying', gauge('up', 'last', { scale: -1, offset: 1 })),
    pluginRule('output', SPACE, gauge('queue_size', 'last', { scale: -1, offset: 100 })),
    pluginRule('output', SPACE, gauge('queue_capacity', 'last', { scale: 0, offset: 100 })),
  ],
});

/** The state of a plugin, kept from one page to the next. */
interface PluginState {
  readonly records: number;
  readonly size: number;
  readonly rollbacks: number;
  /** Flushes that were not taken back, the most there were: one under way is not counted twice. */
  readonly flushed: number;
  readonly deliveredRecords: number;
  readonly deliveredSize: number;
}

const INITIAL_STATE: PluginState = {
  records: 0,
  size: 0,
  rollbacks: 0,
  flushed: 0,
  deliveredRecords: 0,
  deliveredSize: 0,
};

/** Reads the pages of one Fluentd process, one after the other. Throws `invalid-request` for any other page. */
function createFluentdReader(): JsonReader {
  let states = new Map<string, PluginState>();

  return function* (text) {
    const { plugins, bad, listed } = yield* readFluentd(text);
    // All counters are of one process, so when one fell all of them began anew.
    const restarted = plugins.some(one => hasReset(one, states.get(one.plugin_id)));
    // A plugin that cannot be read now may be one that is known.
    const next = new Map(bad > 0 ? states : []);
    const list = new StatList();
    for (const one of plugins) {
      yield* list.next();
      const before = states.get(one.plugin_id);
      const now = nextState(one, before && restarted ? INITIAL_STATE : before);
      next.set(one.plugin_id, now);
      addPlugin(list, one, now);
    }
    states = next;
    return { stats: list.stats, bad, restarted, listed };
  };
}

const hasReset = (one: FluentdPlugin, before: PluginState | undefined): boolean =>
  before !== undefined &&
  ((one.emit_records ?? 0) < before.records || (one.rollback_count ?? 0) < before.rollbacks);

function nextState(one: FluentdPlugin, before: PluginState | undefined): PluginState {
  const records = one.emit_records ?? 0;
  const size = one.emit_size ?? 0;
  const rollbacks = one.rollback_count ?? 0;
  const flushed = (one.write_count ?? 0) - rollbacks;
  const succeeds = flushed > (before?.flushed ?? flushed);
  const isHeld = before !== undefined && isFailing(one, before) && !succeeds;
  return {
    records,
    size,
    rollbacks,
    flushed: Math.max(flushed, before?.flushed ?? flushed),
    deliveredRecords: isHeld ? before.deliveredRecords : records,
    deliveredSize: isHeld ? before.deliveredSize : size,
  };
}

/** With `include_retry false` the page does not say whether it retries. */
const isFailing = (one: FluentdPlugin, before: PluginState): boolean =>
  one.retry ? (one.retry.steps ?? 0) > 0 : (one.rollback_count ?? 0) > before.rollbacks;

function addPlugin(list: StatList, one: FluentdPlugin, now: PluginState): void {
  const of = {
    labels: new Map([
      ['plugin_id', one.plugin_id],
      ['type', one.type],
    ]),
    incarnation: '',
  };
  if (one.plugin_category === 'input') {
    list.add('input.emit_records', now.records, of);
    list.add('input.emit_size', sizeOf(now.size), of);
    return;
  }
  list.add('output.delivered_records', now.deliveredRecords, of);
  list.add('output.delivered_size', sizeOf(now.deliveredSize), of);
  list.add('output.retry_count', one.retry_count, of);
  list.add('output.drop_oldest_chunk_count', one.drop_oldest_chunk_count, of);
  if (one.retry) list.add('output.retrying', (one.retry.steps ?? 0) > 0 ? 1 : 0, of);
  list.add(`output.${SPACE}`, one[SPACE], of);
}

/** Without `enable_size_metrics` sizes stay 0, which is no measure of anything. */
const sizeOf = (size: number): number | undefined => (size > 0 ? size : undefined);

const EXPECTED = "the page of Fluentd's monitor_agent";
const MOST_PLUGINS = 20_000;
/** Plugins that are validated between two pauses. */
const PLUGINS_A_SLICE = 1000;
/** Inputs have some that are null. */
const count = z.number().min(0).nullish();
const name = z.string().min(1).max(512);

const plugin = z.object({
  plugin_id: name,
  plugin_category: z.string(),
  type: name,
  emit_records: z.number().min(0).optional(),
  emit_size: z.number().min(0).optional(),
  write_count: count,
  rollback_count: count,
  retry_count: count,
  drop_oldest_chunk_count: count,
  buffer_available_buffer_space_ratios: count,
  retry: z.object({ steps: count }).nullish(),
});

/** A plugin as the page shows it. */
type FluentdPlugin = z.output<typeof plugin>;

const page = z.object({ plugins: z.array(z.unknown()).max(MOST_PLUGINS) });

interface FluentdPage {
  readonly plugins: readonly FluentdPlugin[];
  /** Plugins that cannot be read and are skipped. */
  readonly bad: number;
  /** Plugins of all kinds on the page. */
  readonly listed: number;
}

/**
 * Fluentd's `/api/plugins.json`: the inputs and outputs that count what they emit; filters move nothing. Throws `invalid-request` for a page that is something else.
 */
export function* readFluentd(text: string): Slices<FluentdPage> {
  const found = page.safeParse(yield* readPage(text, EXPECTED));
  if (!found.success)
    throw notThat(
      EXPECTED,
      `it lists no plugins, or more than ${MOST_PLUGINS}; set url to …/api/plugins.json`,
    );
  const plugins: FluentdPlugin[] = [];
  let bad = 0;
  for (const [at, value] of found.data.plugins.entries()) {
    if (at % PLUGINS_A_SLICE === PLUGINS_A_SLICE - 1) yield;
    const one = plugin.safeParse(value);
    if (!one.success) bad++;
    else if (counts(one.data)) plugins.push(one.data);
  }
  if (plugins.length === 0 && bad > 0) throw notThat(EXPECTED, 'none of its plugins can be read');
  return { plugins, bad, listed: found.data.plugins.length };
}

const counts = ({ plugin_category: category, emit_records: records }: FluentdPlugin): boolean =>
  (category === 'input' || category === 'output') && typeof records === 'number';
