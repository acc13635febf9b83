import * as z from 'zod';
import type { Duration } from '../lib/duration.ts';
import { duration } from '../lib/schemas.ts';
import { timezone } from '../lib/timezone.ts';
import type { Measurement, Usual } from '../pipelines/components/component.ts';
import { USUAL_DAYS } from '../pipelines/history/usual-volumes.ts';
import type { ComponentKind, Counter } from '../pipelines/metric.ts';
import {
  type ComponentEvaluation,
  causeSuffix,
  componentConf,
  type Description,
  defineComponentCondition,
  eitherConf,
  type MeasuredFact,
  openDuration,
  subjectName,
  subjectTitle,
  sumFact,
  type Verdict,
} from './condition.ts';
import { isBytes, TOO_MANY_WINDOWS, volumeCounter } from './volume.ts';

const FEWEST_DAYS = 3;
/** The median deviation of values that are spread normally, times this, is their standard deviation. */
const NORMAL = 1.4826;
/** Volumes that hardly ever differ would alert on nothing: a spread is at least this share of what is usual. */
const LEAST_SHARE = 0.05;
/** And at least this, as the usual may be nothing. */
const LEAST = { bytes: 1024, events: 1 } as const;

type Direction = 'low' | 'high';

interface Limits {
  readonly spread: number;
  readonly lowest: number;
  readonly highest: number;
}

/** The volumes that are usual; limits are whole, so that those which a text shows are those which count. */
export function limitsOf(
  { median, deviation }: Pick<Usual, 'median' | 'deviation'>,
  sensitivity: number,
  metric: 'bytes' | 'events',
): Limits {
  const spread = Math.max(NORMAL * deviation, LEAST_SHARE * median, LEAST[metric]);
  return {
    spread,
    lowest: Math.max(0, Math.round(median - sensitivity * spread)),
    highest: Math.round(median + sensitivity * spread),
  };
}

/** A volume compared with that of the same time on earlier days. */
export const baseline = defineComponentCondition({
  id: 'baseline',
  name: 'Unusual Data Volume',
  category: 'components',
  kind: 'either',
  description: `An input or output had less or more data in the time window than is usual at that time of day, by the last ${USUAL_DAYS} days.`,
  sample: {
    ...{ _metric: 'total.out_events', events: 1200, direction: 'low', usual: 10_000, spread: 800 },
    ...{ lowest: 7600, highest: 12_400, days: 27, sensitivity: 3 },
  },
  otherFields: ['bytes'],
  readsUsual: true,
  example: { id: 'app_unusual', conf: { name: 'syslog:app', metric: 'events', timeWindow: '1h' } },
  schema: z.strictObject({
    ...componentConf('either', 'The stretch of time whose data is added up.'),
    timeWindow: duration({ min: '5m', max: '1d' })
      .prefault('1h')
      .describe('The stretch of time whose data is added up.'),
    ...eitherConf,
    metric: z.enum(['bytes', 'events']).describe('What is compared.'),
    direction: z
      .enum(['low', 'high', 'both'])
      .default('low')
      .describe('Whether less than usual is an alarm, more, or both.'),
    sensitivity: z
      .number()
      .min(0.5)
      .max(100)
      .default(3)
      .describe('How many times the usual spread it may be away from what is usual; less alerts sooner.'),
    timezone: timezone
      .default('UTC')
      .describe('Time zone whose clock tells the time of day, so that a change of the clock moves it.'),
  }),
  okWhile(evaluation, conf) {
    const compared = compare(evaluation, conf);
    // Bytes may be counted one day, and then they count.
    if (typeof compared === 'string' || (conf.metric === 'bytes' && !isBytes(compared.counter)))
      return undefined;
    const { direction, timeWindow } = conf;
    const { counter, scale, limits, forMs } = compared;
    const holds = (sum: number): boolean => {
      const side = sideOf(sum * scale, limits);
      return side === undefined || (direction !== 'both' && direction !== side);
    };
    return [{ value: { metric: counter, ms: timeWindow.ms }, holds, forMs }];
  },
  evaluate(evaluation, conf): Verdict {
    const compared = compare(evaluation, conf);
    if (typeof compared === 'string') return { state: 'unknown', reason: compared };
    const { direction, timeWindow } = conf;
    const side = sideOf(compared.sum, compared.limits);
    const isOver = side !== undefined && (direction === 'both' || direction === side);
    if (isOver && side === 'low' && compared.observedMs < timeWindow.ms)
      return { state: 'unknown', reason: `it has been watched for less than ${timeWindow.text}` };
    return isOver
      ? { state: 'alarm', describe: () => describeUnusual(evaluation, conf, compared, side) }
      : {
          state: 'ok',
          describe: () => ({
            fields: fieldsOf(conf, compared),
            text: `${trafficOf(compared, evaluation)} is as usual again after ${openDuration(evaluation.open)}: ${amountOf(conf, compared.sum)}; ${comparison(compared)}`,
          }),
        };
  },
  explain(evaluation, conf) {
    const { metric, timeWindow, direction } = conf;
    const compared = compare(evaluation, conf);
    const sides = direction === 'both' ? (['low', 'high'] as const) : [direction];
    const provided = `${sides.map(side => (side === 'low' ? 'less' : 'more')).join(' or ')} than usual comes in ${timeWindow.text}`;
    if (typeof compared === 'string')
      return {
        facts: [{ name: 'data', unit: metric, windowMs: timeWindow.ms, value: undefined, unknown: compared }],
        ...{ alarmInMs: 0, provided },
        alarm: () => ({
          fields: {},
          text: `${subjectName(evaluation.subject)} traffic volume is unusual`,
        }),
      };
    const { sum, observedMs, usual, limits, days } = compared;
    const [first] = sides;
    const limitOf = (side: Direction): number => (side === 'low' ? limits.lowest : limits.highest);
    return {
      facts: [
        ...sides.map((side): MeasuredFact => {
          const alarm = { when: side === 'low' ? 'less than' : 'more than', limit: limitOf(side) } as const;
          return sumFact({ name: 'data', unit: metric, windowMs: timeWindow.ms, alarm }, { sum, observedMs });
        }),
        { name: 'usual at this time of day', value: Math.round(usual), unit: metric },
        { name: 'usual spread', value: Math.round(limits.spread), unit: metric },
        { name: 'recorded days', value: days, unit: 'days' },
      ],
      alarmInMs: first === 'low' ? Math.max(0, timeWindow.ms - observedMs) : 0,
      provided,
      alarm: () => {
        const edge = limitOf(first) + (first === 'low' ? -1 : 1);
        return describeUnusual(evaluation, conf, { ...compared, sum: Math.max(0, edge) }, first);
      },
    };
  },
});

interface BaselineConf {
  readonly metric: 'bytes' | 'events';
  readonly sensitivity: number;
  readonly timezone: string;
  readonly timeWindow: Duration;
}

/** A volume with what it is compared with. */
interface Comparison extends Measurement {
  readonly kind: ComponentKind;
  readonly counter: Counter;
  /** What one of the counter counts for. */
  readonly scale: number;
  readonly usual: number;
  readonly days: number;
  readonly limits: Limits;
  /** For how long the limits stay the same, in ms, where that is known. */
  readonly forMs: number | undefined;
}

/** Returns why nothing can be compared, where nothing can. */
function compare(
  evaluation: ComponentEvaluation,
  { metric, sensitivity, timezone: zone, timeWindow }: BaselineConf,
): Comparison | string {
  const { component } = evaluation.subject;
  if (component === undefined) return 'it was never seen';
  const counted = volumeCounter(evaluation, component.kind, metric);
  if (typeof counted === 'string') return counted;
  const { counter, scale } = counted;
  const { components } = evaluation;
  const measured = components.measure(component, counter, timeWindow.ms);
  if (measured === undefined) return TOO_MANY_WINDOWS;
  const usual = components.usual(component, counter, { windowMs: timeWindow.ms, timezone: zone });
  const why = whyUnusable(usual);
  if (usual === undefined || why !== undefined) return why ?? '';
  const scaled = { median: usual.median * scale, deviation: usual.deviation * scale };
  return {
    kind: component.kind,
    counter,
    scale,
    forMs: usual.forMs,
    sum: measured.sum * scale,
    observedMs: measured.observedMs,
    usual: scaled.median,
    days: usual.days,
    limits: limitsOf(scaled, sensitivity, metric),
  };
}

const trafficOf = ({ kind }: Comparison, { subject }: ComponentEvaluation): string =>
  `${subjectTitle(kind, subject)} traffic volume`;

const amountOf = ({ metric, timeWindow }: BaselineConf, sum: number): string =>
  `${Math.round(sum)} ${metric} in ${timeWindow.text}`;

const comparison = ({ usual, days, limits }: Comparison): string =>
  `usual at this time is ${Math.round(usual)} by ${days} days, with a spread of ${Math.round(limits.spread)}`;

const fieldsOf = (
  { metric, sensitivity, timeWindow }: BaselineConf,
  { kind, sum, usual, days, limits }: Comparison,
): Description['fields'] => ({
  _metric: `total.${kind === 'input' ? 'in' : 'out'}_${metric}`,
  [metric]: Math.round(sum),
  usual: Math.round(usual),
  spread: Math.round(limits.spread),
  lowest: limits.lowest,
  highest: limits.highest,
  days,
  sensitivity,
  timeWindow: timeWindow.text,
});

function describeUnusual(
  evaluation: ComponentEvaluation,
  conf: BaselineConf,
  compared: Comparison,
  side: Direction,
): Description {
  const { lowest, highest } = compared.limits;
  const volume = trafficOf(compared, evaluation);
  const amount = amountOf(conf, compared.sum);
  return {
    fields: { ...fieldsOf(conf, compared), direction: side },
    text:
      side === 'low'
        ? `${volume} is unusually low: ${amount}, less than ${lowest}; ${comparison(compared)}${causeSuffix(evaluation)}`
        : `${volume} is unusually high: ${amount}, more than ${highest}; ${comparison(compared)}`,
  };
}

const sideOf = (sum: number, { lowest, highest }: Limits): Direction | undefined => {
  if (sum < lowest) return 'low';
  return sum > highest ? 'high' : undefined;
};

/** Why nothing can be compared with it; undefined when it can. */
function whyUnusable(usual: Usual | undefined): string | undefined {
  if (usual === undefined) return 'its recorded hours are being read';
  if (usual.days >= FEWEST_DAYS) return undefined;
  return `${usual.days} of the last ${USUAL_DAYS} days are recorded at this time; at least ${FEWEST_DAYS} are needed`;
}
