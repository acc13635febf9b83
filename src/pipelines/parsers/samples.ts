import * as z from 'zod';
import { ProblemList } from '../../lib/problem-list.ts';
import type { Slices } from '../../lib/slices.ts';
import { isCounter, METRICS } from '../metric.ts';

const MOST_SAMPLES = 100_000;

const time = z.int().min(0);
const start = time.describe('Epoch ms at which the time began that a delta is the increase of.');
const name = z.string().min(1).max(512);

const sample = z
  .strictObject({
    kind: z.enum(['input', 'output']),
    type: name.optional(),
    id: name,
    metric: z.enum(METRICS),
    value: z.number(),
    start: start.optional(),
    time: time.optional(),
  })
  .superRefine((value, context) => {
    if (isCounter(value.metric) && value.value < 0)
      context.addIssue({
        code: 'custom',
        path: ['value'],
        message: `must not be negative: ${value.metric} is a counter`,
      });
  });

/** The body of `POST /ingest/samples`. */
export const samplesSchema = z.strictObject({
  instance: z.string().min(1).max(256).optional(),
  temporality: z.enum(['cumulative', 'delta']).default('cumulative'),
  start: start.optional(),
  time: time.optional(),
  samples: z.array(sample).max(MOST_SAMPLES),
});

export type PushedSamples = z.output<typeof samplesSchema>;

/** The same body, its samples to be read one by one. */
const envelope = samplesSchema.extend({ samples: z.array(z.unknown()).max(MOST_SAMPLES) });

/** Samples that are validated between two pauses. */
const SAMPLES_A_SLICE = 2000;

/** Throws `invalid-request` naming the first 20 bad places: one bad sample spoils the whole body. */
export function* readSamples(raw: unknown): Slices<PushedSamples> {
  const message = 'The samples are not valid; none was taken';
  const problems = new ProblemList();
  const whole = problems.read(envelope, raw);
  if (whole === undefined) throw problems.refusal(message);
  const { samples: items, ...rest } = whole.data;
  const samples: PushedSamples['samples'] = [];
  for (const [at, item] of items.entries()) {
    const read = problems.read(sample, item, ['samples', at]);
    if (read !== undefined) samples.push(read.data);
    if (at % SAMPLES_A_SLICE === SAMPLES_A_SLICE - 1) yield;
  }
  if (problems.count > 0) throw problems.refusal(message);
  return { ...rest, samples };
}
