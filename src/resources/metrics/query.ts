import * as z from 'zod';
import { invalidField } from '../../auth/users.ts';
import { duration } from '../../lib/schemas.ts';
import { RECORDED, type Recorded } from '../../pipelines/minute.ts';
import { HOUR_MS } from '../../pipelines/minutes.ts';
import type { Listed } from '../paging.ts';
import { defineVerb } from '../verb.ts';
import { type SeenComponent, seenComponents } from './seen.ts';
import { type Span, seriesOf } from './series.ts';

const MINUTE_MS = 60_000;
const MOST_COMPONENTS = 200;
/** Of one answer. */
const MOST_VALUES = 50_000;
/** Rows of one component and hour that one answer may be made of. */
const MOST_ROWS = 10_000;

/** What a component did, step by step. */
export interface Series extends SeenComponent {
  readonly metric: Recorded;
  /** Epoch ms of the beginning of each step, and its value; null where nothing is known of it. */
  readonly points: readonly (readonly [number, number | null])[];
}

const time = z.iso.datetime({ offset: true });

const body = z.strictObject({
  components: z
    .array(z.string().min(1).max(512))
    .min(1)
    .max(50)
    .describe('Which: `type:id`, an id, or a pattern with `*`.'),
  kind: z.enum(['input', 'output']).optional().describe('Left out, inputs and outputs.'),
  metrics: z.array(z.enum(RECORDED)).min(1).max(RECORDED.length).describe('Which of their metrics.'),
  from: time.describe('Counts from the beginning of its minute.'),
  to: time.optional().describe('Left out, until now.'),
  step: duration({ min: '1m', max: '8d' }).prefault('1m').describe('Whole minutes, which become one value.'),
});

/**
 * What was recorded minute by minute, as series. Throws `invalid-request` when an answer would be too large, saying by
 * how much.
 */
export const queryMetrics = defineVerb({
  permission: 'read:inputs',
  input: z.object({ body }),
  async run(call, { body: asked }): Promise<Listed<Series>> {
    const { stores, clock } = call.house;
    const span = spanOf(asked, clock.now());
    const seen = seenComponents(call, { kind: asked.kind, names: asked.components });
    const metrics = RECORDED.filter(name => asked.metrics.includes(name));
    assertModest(seen.length, metrics.length, span);
    const all = await seriesOf(
      stores.minutes,
      seen.map(({ component }) => component),
      metrics,
      span,
    );
    const items = seen.flatMap((one, at) =>
      metrics.map((metric, index): Series => ({ ...one, metric, points: all[at]?.[index] ?? [] })),
    );
    return { items, offset: 0, limit: undefined, total: items.length };
  },
});

function spanOf({ from, to, step }: z.output<typeof body>, now: number): Span {
  const start = Math.floor(Date.parse(from) / MINUTE_MS) * MINUTE_MS;
  const end = to === undefined ? now : Date.parse(to);
  if (step.ms % MINUTE_MS !== 0) throw invalidField('step', 'must be whole minutes');
  if (end <= start) throw invalidField('to', 'must be later than from');
  return { start, end, stepMs: step.ms };
}

function assertModest(components: number, metrics: number, { start, end, stepMs }: Span): void {
  if (components > MOST_COMPONENTS)
    throw invalidField('components', `mean ${components}; name ${MOST_COMPONENTS} at most`);
  const values = components * metrics * Math.ceil((end - start) / stepMs);
  if (values > MOST_VALUES)
    throw invalidField(
      'step',
      `makes ${values} values of it; ask for ${MOST_VALUES} at most, with a longer step`,
    );
  const rows = components * Math.ceil((end - start) / HOUR_MS + 1);
  if (rows > MOST_ROWS)
    throw invalidField('from', `is too early for ${components} components; name fewer, or a shorter time`);
}
