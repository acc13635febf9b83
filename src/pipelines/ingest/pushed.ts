import type { Slices } from '../../lib/slices.ts';
import { profileOf } from '../engines/index.ts';
import {
  counter,
  gauge,
  type MatchingLimit,
  type Meaning,
  mapSeries,
  type ProfileRule,
  ruleLookup,
  type SeriesMapping,
} from '../engines/profile.ts';
import { isCounter } from '../metric.ts';
import type { Point, TakePoint } from '../parsers/point.ts';
import type { PushedSamples } from '../parsers/samples.ts';
import type { PipelineSettings } from '../settings.ts';
import type { SeriesDescription } from './ingester.ts';

/** A value that was pushed; `series` names its series within its sender. */
export interface PushedValue {
  readonly series: string;
  /** Called once for each series. */
  readonly describe: () => SeriesDescription;
  readonly value: number;
  /** Epoch ms, or NaN. */
  readonly time: number;
  readonly start: number;
}

/** Reads points, and hands over each. */
export type ReadPoints = (take: TakePoint) => Slices;

type PushedSample = PushedSamples['samples'][number];

/** The values of pushed samples; a sample without a type has the engine's name as its type. */
export function pushedValuesOf(pushed: PushedSamples, engine: string): PushedValue[] {
  return pushed.samples.map(sample => ({
    // A series that changes its temporality is another one: its values do not compare.
    series: [pushed.temporality, sample.kind, sample.type ?? engine, sample.id, sample.metric].join('\n'),
    describe: () => ({
      instance: undefined,
      mappings: [
        {
          kind: sample.kind,
          type: sample.type ?? engine,
          engineId: sample.id,
          meaning: meaningOf(sample, pushed.temporality),
        },
      ],
    }),
    value: sample.value,
    time: sample.time ?? pushed.time ?? Number.NaN,
    start: sample.start ?? pushed.start ?? Number.NaN,
  }));
}

function meaningOf({ metric }: PushedSample, temporality: PushedSamples['temporality']): Meaning {
  if (!isCounter(metric)) return gauge(metric, 'last');
  return counter(metric, temporality === 'delta' ? { reads: 'delta' } : {});
}

/** Labels that name the process a series belongs to, where the sender does not name it otherwise. */
const INSTANCE_LABELS = ['instance', 'host', 'hostname'] as const;

/** The value of a point by the profile of its pipeline's engine; undefined of a point of no input or output. */
type PointReader = (point: Point) => PushedValue | undefined;

export function createPointReader(settings: PipelineSettings, matching?: MatchingLimit): PointReader {
  if (settings.engine === 'rsyslog') return () => undefined;
  const profile = profileOf(settings);
  const rulesOf = ruleLookup(profile, matching);

  /** OpenTelemetry writes names with dots, and without the `_total` that Prometheus gives its counters. */
  const rulesFor = (name: string): readonly ProfileRule[] => {
    const plain = name.replaceAll('.', '_');
    const rules = rulesOf(plain);
    return rules.length > 0 ? rules : rulesOf(`${plain}_total`);
  };

  return point => {
    const rules = rulesFor(point.name);
    if (rules.length === 0) return undefined;
    const { labels, temporality, value, time, start } = point;
    return {
      series: seriesOf(point),
      value,
      time,
      start,
      describe: () => ({
        instance: point.instance ?? INSTANCE_LABELS.map(name => labels.get(name)).find(Boolean),
        mappings: mapSeries(profile, rules, labels).flatMap(one =>
          temporality === 'delta' ? deltaMappings(one) : one,
        ),
      }),
    };
  };
}

/** All that makes it different from other series of the same sender. */
function seriesOf({ name, labels, instance = '', temporality }: Point): string {
  const own = [temporality, instance, name].join('\n');
  return `${own}{${[...labels].flat().join('\n')}`;
}

/** Reads an increase that was sent as one. Increases do not show how a gauge grew. */
function deltaMappings(mapping: SeriesMapping): SeriesMapping[] {
  const { meaning } = mapping;
  if (meaning.reads === 'grew' || meaning.reads === 'ratio') return [];
  if (meaning.reads !== 'counter') return [mapping];
  return [{ ...mapping, meaning: { ...meaning, reads: 'delta' } }];
}
