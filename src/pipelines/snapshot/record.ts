import { deserialize, serialize } from 'node:v8';
import * as z from 'zod';
import { WINDOWED } from '../metric.ts';

const numbers = z.number();
const timeOrNone = z.union([numbers, z.nan()]);

const component = z.strictObject({
  kind: z.enum(['input', 'output']),
  type: z.string(),
  engineId: z.string(),
  id: z.string().regex(/^[a-zA-Z0-9_-]{1,512}$/),
  totals: z.array(numbers).length(6),
  known: z.int(),
  lastDataAt: numbers.nullable(),
  timestamp: numbers.nullable(),
  /** Observed ms without data, and without any sign of life, when it was written. */
  silentMs: numbers,
  idleMs: numbers,
  windows: z
    .array(
      z.strictObject({
        metric: z.enum(WINDOWED),
        ms: numbers,
        parts: z.instanceof(Float64Array),
        watchedMs: numbers,
      }),
    )
    .default([]),
});

const feed = z
  .strictObject({
    name: z.string(),
    /** Epoch ms, or NaN. */
    startedAt: timeOrNone.default(Number.NaN),
    readAt: timeOrNone.default(Number.NaN),
    instances: z.array(z.string()),
    series: z.array(z.string()),
    values: z.instanceof(Float64Array),
    times: z.instanceof(Float64Array),
  })
  .refine(value => value.values.length === value.series.length && value.times.length === value.series.length);

const record = z.strictObject({
  pipeline: z.string(),
  group: z.string(),
  engine: z.string(),
  /** Observed ms since it was last read, or since it last sent, when it was written. */
  unreachedMs: numbers.default(0),
  components: z.array(component),
  feeds: z.array(feed),
});

/** A pipeline, or a part of one: its components and series may be spread over several records. */
export type PipelineRecord = z.output<typeof record>;

/** A pipeline as it stood when it is written, of which the texts of series are made part by part. */
export interface PipelineSnapshot extends Omit<PipelineRecord, 'feeds'> {
  readonly feeds: readonly FeedSnapshot[];
}

export type FeedSnapshot = Omit<PipelineRecord['feeds'][number], 'series'> & {
  readonly series: SeriesTexts;
};

interface SeriesTexts {
  readonly length: number;
  slice(from: number, to: number): string[];
}

/** What is written and read between two pauses, in some milliseconds. */
const COMPONENTS_A_PART = 1000;
const SERIES_A_PART = 5000;

/** The record in parts that take some milliseconds each, as `v8.serialize` writes them. */
export function* encodeRecord(whole: PipelineSnapshot): Generator<Buffer> {
  const { components, feeds, ...pipeline } = whole;
  const encode = (part: Pick<PipelineRecord, 'components' | 'feeds'>): Buffer =>
    serialize({ ...pipeline, ...part });
  for (let from = 0; from === 0 || from < components.length; from += COMPONENTS_A_PART)
    yield encode({ components: components.slice(from, from + COMPONENTS_A_PART), feeds: [] });
  for (const one of feeds)
    for (let from = 0; from === 0 || from < one.series.length; from += SERIES_A_PART) {
      const to = from + SERIES_A_PART;
      const part = {
        ...one,
        series: one.series.slice(from, to),
        values: one.values.slice(from, to),
        times: one.times.slice(from, to),
      };
      yield encode({ components: [], feeds: [part] });
    }
}

/** Throws for what is no record of this version. */
export const decodeRecord = (bytes: Buffer): PipelineRecord => record.parse(deserialize(bytes));
