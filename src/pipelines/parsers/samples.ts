import * as z from 'zod';
import { AppError } from '../../lib/errors.ts';
import { isCounter, METRICS } from '../metric.ts';

const MOST_SAMPLES = 100_000;
const MOST_PROBLEMS = 20;

const time = z.int().min(0);
const name = z.string().min(1).max(512);

const sample = z
  .strictObject({
    kind: z.enum(['input', 'output']),
    type: name.optional(),
    id: name,
    metric: z.enum(METRICS),
    value: z.number(),
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
  time: time.optional(),
  samples: z.array(sample).max(MOST_SAMPLES),
});

export type PushedSamples = z.output<typeof samplesSchema>;

/** Throws `invalid-request` naming each bad place: one bad sample spoils the whole body. */
export function parseSamples(raw: unknown): PushedSamples {
  const parsed = samplesSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .slice(0, MOST_PROBLEMS)
    .map(issue => ({ path: dotted(issue.path), message: issue.message }));
  throw new AppError('invalid-request', 'The samples are not valid; none was taken', { problems });
}

function dotted(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, key) =>
      typeof key === 'number' ? `${text}[${key}]` : text === '' ? String(key) : `${text}.${String(key)}`,
    '',
  );
}
