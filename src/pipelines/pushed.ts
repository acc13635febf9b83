import { counter, gauge, type Meaning } from './engines/profile.ts';
import type { PushedSamples } from './formats/samples.ts';
import { isCounter } from './metric.ts';
import type { PushedValue } from './pushed-value.ts';

type PushedSample = PushedSamples['samples'][number];

/** Samples as they were pushed, with the engine's name where one has no type. */
export function valuesOf(pushed: PushedSamples, engine: string): PushedValue[] {
  return pushed.samples.map(sample => ({
    // A series that changes its temporality is another one: its values do not compare.
    series: [pushed.temporality, sample.kind, sample.type ?? engine, sample.id, sample.metric].join('\n'),
    discover: () => ({
      instance: undefined,
      statements: [
        {
          kind: sample.kind,
          type: sample.type ?? engine,
          engineId: sample.id,
          means: meaningOf(sample, pushed.temporality),
        },
      ],
    }),
    value: sample.value,
    time: sample.time ?? pushed.time ?? Number.NaN,
  }));
}

function meaningOf({ metric }: PushedSample, temporality: PushedSamples['temporality']): Meaning {
  if (!isCounter(metric)) return gauge(metric, 'last');
  return counter(metric, temporality === 'delta' ? { reads: 'amount' } : {});
}
