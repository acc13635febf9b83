import { PREFIX, SERIES } from './world-protocol.ts';

/** Samples of one sender at one time: so many components with ten series each. */
export interface Round {
  readonly components: number;
  /** Epoch ms; counters go by it. */
  readonly time: number;
}

/** Counters first, gauges last, as `SERIES` has them. */
const COUNTERS = 6;

interface Sample {
  readonly name: string;
  readonly component: string;
  readonly value: number;
  readonly isCounter: boolean;
}

const NAMES = SERIES.map(name => `${PREFIX}${name}`);

const valueAt = (at: number, number: number, time: number): number =>
  at < COUNTERS ? Math.floor(time / 1000) + number : 1 + (number % 7);

const componentOf = (number: number): string => `component_${number}`;

/** Series by series, as OpenTelemetry and remote write have them. */
function* samplesOf({ components, time }: Round): Generator<Sample> {
  for (const [at, name] of NAMES.entries())
    for (let number = 0; number < components; number++)
      yield {
        name,
        component: componentOf(number),
        value: valueAt(at, number, time),
        isCounter: at < COUNTERS,
      };
}

const LABELS = { component_type: 'syslog', host: 'edge-1.example' };

/** Text as Prometheus reads it; OpenMetrics ends with a mark. */
export function textPage(round: Round, openMetrics: boolean): string {
  const lines = Array.from({ length: round.components }, (_, number) =>
    NAMES.map(
      (name, at) =>
        `${name}{component_id="${componentOf(number)}",component_type="${LABELS.component_type}",host="${LABELS.host}"} ${valueAt(at, number, round.time)}\n`,
    ).join(''),
  );
  return `${lines.join('')}${openMetrics ? '# EOF\n' : ''}`;
}

/** One metric for each name, one point for each component. */
export function otlpJson(round: Round): string {
  const metrics = NAMES.map((name, at) => {
    const dataPoints = Array.from({ length: round.components }, (_, number) => ({
      attributes: [
        { key: 'component_id', value: { stringValue: componentOf(number) } },
        { key: 'component_type', value: { stringValue: LABELS.component_type } },
      ],
      startTimeUnixNano: START_NS,
      timeUnixNano: `${round.time}000000`,
      asDouble: valueAt(at, number, round.time),
    }));
    return at < COUNTERS
      ? { name, sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints } }
      : { name, gauge: { dataPoints } };
  });
  const resource = { attributes: [{ key: 'host.name', value: { stringValue: LABELS.host } }] };
  return JSON.stringify({ resourceMetrics: [{ resource, scopeMetrics: [{ metrics }] }] });
}

const START_NS = '1767225600000000000';

export function otlpProtobuf(round: Round): Buffer {
  const attribute = (key: string, value: string): Buffer =>
    Buffer.concat([text(1, key), message(2, text(1, value))]);
  const metrics = NAMES.map((name, at) => {
    const points = Array.from({ length: round.components }, (_, number) =>
      message(
        1,
        fixed64(2, BigInt(START_NS)),
        fixed64(3, BigInt(round.time) * 1_000_000n),
        double(4, valueAt(at, number, round.time)),
        message(7, attribute('component_id', componentOf(number))),
        message(7, attribute('component_type', LABELS.component_type)),
      ),
    );
    const data =
      at < COUNTERS ? message(7, ...points, varintField(2, 2), varintField(3, 1)) : message(5, ...points);
    return message(2, text(1, name), data);
  });
  const resource = message(1, message(1, attribute('host.name', LABELS.host)));
  return message(1, resource, message(2, ...metrics));
}

/** Unpacked: what Snappy costs depends on what is packed, and is measured with a recorded body. */
export function writeRequest(round: Round): Buffer {
  const label = (name: string, value: string): Buffer => message(1, text(1, name), text(2, value));
  return Buffer.concat(
    [...samplesOf(round)].map(({ name, component, value }) =>
      message(
        1,
        label('__name__', name),
        label('component_id', component),
        label('component_type', LABELS.component_type),
        label('host', LABELS.host),
        message(2, double(1, value), varintField(2, round.time)),
      ),
    ),
  );
}

/** Inputs, each with two counters that are read of it, and two that are not. */
export const impstats = ({ components, time }: Round): string =>
  Array.from(
    { length: components },
    (_, number) =>
      `${JSON.stringify({ name: componentOf(number), origin: 'imtcp', submitted: valueAt(0, number, time), sessions: 1, 'bytes.received': valueAt(1, number, time), 'bytes.decompressed': 0 })}\n`,
  ).join('');

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return [...bytes, rest];
}

const message = (number: number, ...parts: readonly Buffer[]): Buffer => {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...varint(length)]), ...parts]);
};

const text = (number: number, value: string): Buffer => message(number, Buffer.from(value));

const varintField = (number: number, value: number): Buffer => Buffer.from([number << 3, ...varint(value)]);

function fixed64(number: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(9, (number << 3) | 1);
  bytes.writeBigUInt64LE(value, 1);
  return bytes;
}

function double(number: number, value: number): Buffer {
  const bytes = Buffer.alloc(9, (number << 3) | 1);
  bytes.writeDoubleLE(value, 1);
  return bytes;
}
