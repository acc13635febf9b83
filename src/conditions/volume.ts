import * as z from 'zod';
import type { Component, Measurement } from '../pipelines/components/component.ts';
import type { ComponentKind, Counter } from '../pipelines/metric.ts';
import {
  type ComponentCondition,
  type ComponentEvaluation,
  causeSuffix,
  componentConf,
  type Description,
  defineComponentCondition,
  openDuration,
  type Subject,
  subjectTitle,
  sumFact,
} from './condition.ts';

interface VolumeOptions {
  readonly id: string;
  readonly name: string;
  readonly kind: ComponentKind;
  /** The side of the limit that is an alarm. */
  readonly when: 'greater' | 'less';
  readonly example: ComponentCondition['example'];
}

/**
 * Alarms on more or less data in the window than the limit, strictly. Too little is an alarm only when a whole window
 * was observed; a name that was never seen had none.
 */
function defineVolume({ id, name, kind, when, example }: VolumeOptions): ComponentCondition {
  const metric = kind === 'input' ? 'total.in_bytes' : 'total.out_bytes';
  const isOver = (sum: number, limit: number): boolean => (when === 'greater' ? sum > limit : sum < limit);
  return defineComponentCondition({
    id,
    name,
    category: kind === 'input' ? 'sources' : 'destinations',
    kind,
    description: `An ${kind} had ${when === 'greater' ? 'more' : 'less'} data in the time window than dataVolume.`,
    sample: { _metric: metric, bytes: 1_200_000_000, dataVolume: '1GB' },
    otherFields: ['events'],
    example,
    schema: z.strictObject({
      ...componentConf(kind, 'The stretch of time whose data is added up.'),
      dataVolume: dataVolume.describe(
        'Bytes, as in 500, 10MB or 1G (units of 1,024), or events, as in 10000 events.',
      ),
    }),
    okWhile(evaluation, { timeWindow, dataVolume: { unit, amount } }) {
      const counted = volumeCounter(evaluation, kind, unit);
      // Bytes may be counted one day, and then they count.
      if (typeof counted === 'string' || (unit === 'bytes' && !isBytes(counted.counter))) return undefined;
      const { counter, scale } = counted;
      const holds = (sum: number): boolean => !isOver(sum * scale, amount);
      return [{ value: { metric: counter, ms: timeWindow.ms }, holds }];
    },
    evaluate(evaluation, { timeWindow, dataVolume: limit }) {
      const { subject, open } = evaluation;
      const measured = volumeOf(evaluation, kind, limit, timeWindow.ms);
      if (typeof measured === 'string') return { state: 'unknown', reason: measured };
      const isAlarm = isOver(measured.sum, limit.amount);
      // A component observed for less than a window may still reach the limit.
      if (isAlarm && when === 'less' && measured.observedMs < timeWindow.ms)
        return { state: 'unknown', reason: `it has been watched for less than ${timeWindow.text}` };
      const volume = { kind, limit, window: timeWindow.text, sum: measured.sum };
      return isAlarm
        ? { state: 'alarm', describe: () => alarmOf(evaluation, when, volume) }
        : {
            state: 'ok',
            describe: () => ({
              fields: fieldsOf(volume),
              text: `${trafficOf(kind, subject)} is back within ${limit.text} in ${timeWindow.text} after ${openDuration(open)}`,
            }),
          };
    },
    explain(evaluation, { timeWindow, dataVolume: limit }) {
      const measured = volumeOf(evaluation, kind, limit, timeWindow.ms);
      const missingMs = typeof measured === 'string' ? timeWindow.ms : timeWindow.ms - measured.observedMs;
      return {
        facts: [
          sumFact(
            {
              name: when === 'less' ? 'data, which may be too little' : 'data, which may be too much',
              unit: limit.unit,
              windowMs: timeWindow.ms,
              alarm: { when: when === 'less' ? 'less than' : 'more than', limit: limit.amount },
            },
            measured,
          ),
        ],
        alarmInMs: when === 'less' ? Math.max(0, missingMs) : 0,
        provided: `${when === 'less' ? 'less' : 'more'} than ${limit.text} has come in ${timeWindow.text} by then`,
        alarm: () => {
          const sum = limit.amount + (when === 'less' ? -1 : 1);
          return alarmOf(evaluation, when, { kind, limit, window: timeWindow.text, sum });
        },
      };
    },
  });
}

const trafficOf = (kind: ComponentKind, subject: Subject): string =>
  `${subjectTitle(kind, subject)} traffic volume`;

interface DescribedVolume {
  readonly kind: ComponentKind;
  readonly limit: DataVolume;
  readonly window: string;
  readonly sum: number;
}

const fieldsOf = ({ kind, limit, window, sum }: DescribedVolume): Description['fields'] => ({
  _metric: `total.${kind === 'input' ? 'in' : 'out'}_${limit.unit}`,
  [limit.unit]: Math.round(sum),
  dataVolume: limit.text,
  timeWindow: window,
});

function alarmOf(
  evaluation: ComponentEvaluation,
  when: VolumeOptions['when'],
  volume: DescribedVolume,
): Description {
  const { kind, limit, window } = volume;
  return {
    fields: fieldsOf(volume),
    text: `${trafficOf(kind, evaluation.subject)} ${when} than ${limit.text} in ${window}${when === 'less' ? causeSuffix(evaluation) : ''}`,
  };
}

/** Adds up the data of the window, or returns why it is not known. */
function volumeOf(
  evaluation: ComponentEvaluation,
  kind: ComponentKind,
  { unit }: DataVolume,
  windowMs: number,
): Measurement | string {
  const { subject, components } = evaluation;
  if (subject.component === undefined) return { sum: 0, observedMs: subject.declaredMs };
  const counted = volumeCounter(evaluation, kind, unit);
  if (typeof counted === 'string') return counted;
  const measured = components.measure(subject.component, counted.counter, windowMs);
  return measured === undefined ? TOO_MANY_WINDOWS : { ...measured, sum: measured.sum * counted.scale };
}

/** The counter of a volume and what one of it counts for, or why there is none. */
export function volumeCounter(
  { subject: { component }, components }: ComponentEvaluation,
  kind: ComponentKind,
  unit: 'bytes' | 'events',
): { readonly counter: Counter; readonly scale: number } | string {
  const events = kind === 'input' ? 'in_events' : 'out_events';
  if (unit === 'events' || component === undefined) return { counter: events, scale: 1 };
  const bytes = kind === 'input' ? 'in_bytes' : 'out_bytes';
  if (components.hasMetric(component, bytes)) return { counter: bytes, scale: 1 };
  const perEvent = components.pipeline(component.pipeline)?.bytesPerEvent ?? undefined;
  return perEvent === undefined ? describeNoBytes(component) : { counter: events, scale: perEvent };
}

export const isBytes = (counter: Counter): boolean => counter === 'in_bytes' || counter === 'out_bytes';

export const TOO_MANY_WINDOWS = 'too many notifications look at it over different windows';

const describeNoBytes = ({ engine, pipeline }: Component): string =>
  `no byte metric: ${engine} does not report it; set bytesPerEvent of pipeline '${pipeline}', or a dataVolume in events`;

/** An amount of data that remembers how it was written: `10GB` stays `10GB` in messages, answers and files. */
class DataVolume {
  readonly text: string;
  readonly amount: number;
  readonly unit: 'bytes' | 'events';

  /** Throws a `RangeError` for a text that is no volume. */
  constructor(text: string) {
    const read = readVolume(text);
    if (read === undefined) throw new RangeError(`'${text}' ${VOLUME_SYNTAX}`);
    this.text = text;
    this.amount = read.amount;
    this.unit = read.unit;
  }

  toString(): string {
    return this.text;
  }

  toJSON(): string {
    return this.text;
  }
}

const VOLUME_SYNTAX = 'must be bytes such as 500, 10MB or 1G, or events such as 10000 events';
const VOLUME_PATTERN = /^(\d{1,15})\s*(?:(B|[KMGTPEZY]B?)|(events?))?$/i;
const PREFIXES = 'KMGTPEZY';

/** Units grow by 1,024 (K is 1,024 bytes); a bare number is bytes. */
function readVolume(text: string): Pick<DataVolume, 'amount' | 'unit'> | undefined {
  const [, digits, unit = '', events] = VOLUME_PATTERN.exec(text) ?? [];
  if (digits === undefined) return undefined;
  if (events !== undefined) return { amount: Number(digits), unit: 'events' };
  const power = PREFIXES.indexOf(unit.charAt(0).toUpperCase() || ' ') + 1;
  return { amount: Number(digits) * 1024 ** power, unit: 'bytes' };
}

const dataVolume = z
  .string()
  .transform((text, context): DataVolume => {
    if (readVolume(text) !== undefined) return new DataVolume(text);
    context.addIssue({ code: 'custom', message: VOLUME_SYNTAX, input: text });
    return z.NEVER;
  })
  .meta({ format: 'data-volume' });

export const highVolume = defineVolume({
  id: 'high-volume',
  name: 'High Data Volume',
  kind: 'input',
  when: 'greater',
  example: { id: 'app_flood', conf: { name: 'syslog:app', dataVolume: '10GB', timeWindow: '1h' } },
});

export const lowVolume = defineVolume({
  id: 'low-volume',
  name: 'Low Data Volume',
  kind: 'input',
  when: 'less',
  example: { id: 'app_thin', conf: { name: 'syslog:app', dataVolume: '1MB', timeWindow: '15m' } },
});

export const highVolumeDest = defineVolume({
  id: 'high-volume-dest',
  name: 'High Data Volume Sent',
  kind: 'output',
  when: 'greater',
  example: { id: 'archive_flood', conf: { name: 'aws_s3:archive', dataVolume: '10GB', timeWindow: '1h' } },
});

export const lowVolumeDest = defineVolume({
  id: 'low-volume-dest',
  name: 'Low Data Volume Sent',
  kind: 'output',
  when: 'less',
  example: {
    id: 'archive_thin',
    conf: { name: 'aws_s3:archive', dataVolume: '5000 events', timeWindow: '1h' },
  },
});
