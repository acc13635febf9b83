import { type FluentdPlugin, readFluentd } from '../formats/fluentd.ts';
import { addStat, type Stat, type Stats } from '../formats/stats.ts';
import { counter, gauge, type Meaning, type Profile, type Rule } from './profile.ts';

const plugin = (kind: 'input' | 'output', name: string, means: Meaning): Rule => ({
  match: new RegExp(`^${kind}\\.${name}$`),
  kind,
  id: 'plugin_id',
  type: 'type',
  means,
});

const SPACE = 'buffer_available_buffer_space_ratios';

/**
 * Fluentd by its monitor_agent. `delivered_*` is what an output emitted, held back while it only fails: Fluentd counts
 * nothing as delivered. What it drops it counts in chunks. A plugin without `@id` has another id after each start.
 */
export const fluentd: Profile = {
  engine: 'fluentd',
  rules: [
    plugin('input', 'emit_records', counter('in_events')),
    plugin('input', 'emit_size', counter('in_bytes')),
    plugin('output', 'delivered_records', counter('out_events')),
    plugin('output', 'delivered_size', counter('out_bytes')),
    plugin('output', 'retry_count', counter('errors')),
    plugin('output', 'drop_oldest_chunk_count', counter('dropped')),
    plugin('output', 'retrying', gauge('up', 'last', { scale: -1, offset: 1 })),
    plugin('output', SPACE, gauge('queue_size', 'last', { scale: -1, offset: 100 })),
    plugin('output', SPACE, gauge('queue_capacity', 'last', { scale: 0, offset: 100 })),
  ],
};

/** What is remembered of a plugin from one page to the next. */
interface Known {
  readonly records: number;
  readonly size: number;
  readonly rollbacks: number;
  /** Flushes that were not taken back, the most there were: one under way is not counted twice. */
  readonly flushed: number;
  readonly deliveredRecords: number;
  readonly deliveredSize: number;
}

const AT_START: Known = {
  records: 0,
  size: 0,
  rollbacks: 0,
  flushed: 0,
  deliveredRecords: 0,
  deliveredSize: 0,
};

/** Reads the pages of one Fluentd process, one after the other. Throws `invalid-request` for a page that is none. */
export function createFluentdReader(): (text: string) => Stats & { readonly restarted: boolean } {
  let known = new Map<string, Known>();

  return text => {
    const { plugins, bad } = readFluentd(text);
    // All counters are of one process, so when one fell all of them began anew.
    const restarted = plugins.some(one => fell(one, known.get(one.plugin_id)));
    // What cannot be read now may be one that is known.
    const next = new Map(bad > 0 ? known : []);
    const stats: Stat[] = [];
    for (const one of plugins) {
      const before = known.get(one.plugin_id);
      const now = knownOf(one, before && restarted ? AT_START : before);
      next.set(one.plugin_id, now);
      addPlugin(stats, one, now);
    }
    known = next;
    return { stats, bad, restarted };
  };
}

const fell = (one: FluentdPlugin, before: Known | undefined): boolean =>
  before !== undefined &&
  ((one.emit_records ?? 0) < before.records || (one.rollback_count ?? 0) < before.rollbacks);

function knownOf(one: FluentdPlugin, before: Known | undefined): Known {
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
const isFailing = (one: FluentdPlugin, before: Known): boolean =>
  one.retry ? (one.retry.steps ?? 0) > 0 : (one.rollback_count ?? 0) > before.rollbacks;

function addPlugin(stats: Stat[], one: FluentdPlugin, now: Known): void {
  const of = {
    labels: new Map([
      ['plugin_id', one.plugin_id],
      ['type', one.type],
    ]),
    life: '',
  };
  if (one.plugin_category === 'input') {
    addStat(stats, 'input.emit_records', now.records, of);
    addStat(stats, 'input.emit_size', sizeOf(now.size), of);
    return;
  }
  addStat(stats, 'output.delivered_records', now.deliveredRecords, of);
  addStat(stats, 'output.delivered_size', sizeOf(now.deliveredSize), of);
  addStat(stats, 'output.retry_count', one.retry_count, of);
  addStat(stats, 'output.drop_oldest_chunk_count', one.drop_oldest_chunk_count, of);
  if (one.retry) addStat(stats, 'output.retrying', (one.retry.steps ?? 0) > 0 ? 1 : 0, of);
  addStat(stats, `output.${SPACE}`, one[SPACE], of);
}

/** Without `enable_size_metrics` sizes stay 0, which is no measure of anything. */
const sizeOf = (size: number): number | undefined => (size > 0 ? size : undefined);
