import type { ComponentCondition, OpenFor, Verdict } from '../../src/conditions/condition.ts';
import type { Counter, Gauge } from '../../src/pipelines/metric.ts';
import { type Bench, startBench } from './monitor.ts';

/** An answer with its text made. */
type DescribedVerdict =
  | {
      readonly state: 'ok' | 'alarm';
      readonly text: string;
      readonly fields: Readonly<Record<string, unknown>>;
    }
  | Extract<Verdict, { state: 'unknown' }>;

/** A condition that is asked about one component of a real monitor, which is told what its engine counts. */
export interface ConditionBench {
  readonly bench: Bench;
  /** Lets ten seconds pass, then pushes increases and gauges of the component. */
  push(values: Partial<Record<Counter | Gauge, number>>, instance?: string): Promise<void>;
  evaluate(open?: Partial<OpenFor>): DescribedVerdict;
  /** Asks about a name that no component has, declared that long ago. */
  evaluateUnseen(declaredMs: number): DescribedVerdict;
}

const PIPELINE = { id: 'edge', engine: 'custom', push: true, token: 'token of the edge' };

/** Nothing is pushed yet, but the component is there. */
export async function startConditionBench(
  condition: ComponentCondition,
  conf: object = {},
  pipeline: object = {},
): Promise<ConditionBench> {
  const rule = condition.configure({ name: 'app', ...conf });
  const kind = rule.kind === 'either' ? 'output' : rule.kind;
  const bench = await startBench({ ...PIPELINE, ...pipeline });
  const samples = (values: Partial<Record<Counter | Gauge, number>>, instance?: string) =>
    bench.monitor.ingestSamples('edge', {
      temporality: 'delta',
      ...(instance !== undefined && { instance }),
      samples: Object.entries(values).map(([metric, value]) => ({
        kind,
        type: 'syslog',
        id: 'app',
        metric,
        value,
      })),
    });
  samples({ up: 1 });

  const described = (verdict: Verdict): DescribedVerdict =>
    verdict.state === 'unknown' ? verdict : { state: verdict.state, ...verdict.describe() };
  const identity = { key: 'edge/syslog:app', name: 'syslog:app', group: 'default' };

  return {
    bench,
    async push(values, instance) {
      await bench.clock.advance(10_000);
      samples(values, instance);
    },
    evaluate(open) {
      const subject = { ...identity, component: bench.find('app'), declaredMs: 0 };
      return described(
        rule.evaluate({
          subject,
          components: bench.monitor.components,
          open: open && { ms: 0, observedMs: 0, ...open },
        }),
      );
    },
    evaluateUnseen: declaredMs =>
      described(
        rule.evaluate({
          subject: { ...identity, component: undefined, declaredMs },
          components: bench.monitor.components,
          open: undefined,
        }),
      ),
  };
}
