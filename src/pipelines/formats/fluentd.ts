import * as z from 'zod';
import { notThat, readPage } from './stats.ts';

const EXPECTED = "the page of Fluentd's monitor_agent";
const MOST_PLUGINS = 20_000;
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

/** A plugin as the page tells of it. */
export type FluentdPlugin = z.output<typeof plugin>;

const page = z.object({ plugins: z.array(z.unknown()).max(MOST_PLUGINS) });

/**
 * Fluentd's `/api/plugins.json`: the inputs and outputs that count what they emit. An output such as `copy` counts
 * nothing, and filters move nothing. Throws `invalid-request` for a page that is something else.
 */
export function readFluentd(text: string): {
  readonly plugins: readonly FluentdPlugin[];
  /** Plugins that cannot be read and are skipped. */
  readonly bad: number;
} {
  const found = page.safeParse(readPage(text, EXPECTED));
  if (!found.success)
    throw notThat(
      EXPECTED,
      `it lists no plugins, or more than ${MOST_PLUGINS}; set url to …/api/plugins.json`,
    );
  const plugins: FluentdPlugin[] = [];
  let bad = 0;
  for (const value of found.data.plugins) {
    const one = plugin.safeParse(value);
    if (!one.success) bad++;
    else if (counts(one.data)) plugins.push(one.data);
  }
  if (plugins.length === 0 && bad > 0) throw notThat(EXPECTED, 'none of its plugins can be read');
  return { plugins, bad };
}

/** The agent that serves the page is an input itself, which nobody waits for. */
const counts = ({ plugin_category: category, type, emit_records: records }: FluentdPlugin): boolean =>
  (category === 'input' || category === 'output') && type !== 'monitor_agent' && typeof records === 'number';
