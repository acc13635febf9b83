import { profileOf } from './engines/index.ts';
import { counter, type Rule, ruleLookup, type Statement, statementsOf } from './engines/profile.ts';
import type { Point } from './formats/point.ts';
import type { PushedValue } from './pushed-value.ts';
import type { PipelineSettings } from './settings.ts';

/** Labels that say which process a series is of, where the sender does not say it apart. */
const INSTANCE = ['instance', 'host', 'hostname'] as const;

/** Reads points by the profile of their pipeline's engine; what tells nothing of an input or output is left out. */
export function createPointReader(settings: PipelineSettings): (points: readonly Point[]) => PushedValue[] {
  if (settings.engine === 'rsyslog') return () => [];
  const profile = profileOf(settings);
  const rulesOf = ruleLookup(profile);

  /** OpenTelemetry writes names without the `_total` that Prometheus gives its counters. */
  const rulesFor = (name: string): readonly Rule[] => {
    const rules = rulesOf(name);
    return rules.length > 0 ? rules : rulesOf(`${name}_total`);
  };

  return points =>
    points.flatMap(point => {
      const rules = rulesFor(point.name);
      if (rules.length === 0) return [];
      const { labels, temporality, value, time } = point;
      return {
        series: seriesOf(point),
        value,
        time,
        discover: () => ({
          instance: point.instance ?? INSTANCE.map(name => labels.get(name)).find(Boolean),
          statements: statementsOf(profile, rules, labels).flatMap(one =>
            temporality === 'delta' ? asDelta(one) : one,
          ),
        }),
      };
    });
}

/** All that tells it from other series of the same sender. */
function seriesOf({ name, labels, instance = '', temporality, life }: Point): string {
  const own = [temporality, life, instance, name].join('\n');
  return `${own}{${[...labels].flat().join('\n')}`;
}

/** An increase that was sent as one. How a gauge grew is not told by increases. */
function asDelta(statement: Statement): Statement[] {
  const { means } = statement;
  if (means.reads === 'grew' || means.reads === 'share') return [];
  if (means.reads !== 'counter') return [statement];
  return [{ ...statement, means: counter(means.metric, { scale: means.scale, reads: 'amount' }) }];
}
