import { Counter, Gauge, Histogram, Registry } from 'prom-client';

type Labels<Name extends string> = Readonly<Record<Name, string>>;

/** Name, help and labels of a metric. */
interface MetricDescription<Name extends string> {
  /** By the conventions of Prometheus: base units, `_total` on what only grows. */
  readonly name: string;
  readonly help: string;
  /** Each has few values, none of which a caller can make up. */
  readonly labels: readonly Name[];
}

type SetValue<Name extends string> = (labels: Labels<Name>, value: number) => void;

/** Registers the metrics that this process has of itself. */
export interface Metrics {
  /** Answers what adds to it: 1, or as much as is said. */
  counter<Name extends string>(
    described: MetricDescription<Name>,
  ): (labels: Labels<Name>, by?: number) => void;
  /** Answers what notes a value, in the unit that the name says. */
  histogram<Name extends string>(
    described: MetricDescription<Name> & { readonly buckets: readonly number[] },
  ): (labels: Labels<Name>, value: number) => void;
  /** `collect` is called at each scrape and sets the present values. */
  gauge<Name extends string>(
    described: MetricDescription<Name>,
    collect: (set: SetValue<Name>) => void | Promise<void>,
  ): void;
  /** The same, of something that only grows and is counted elsewhere. */
  total(described: Omit<MetricDescription<never>, 'labels'>, read: () => number): void;
}

/** Metrics of one among many: each of its series carries its labels besides. */
interface LabelledMetrics extends Metrics {
  /** Removes them from the page. */
  end(): void;
}

/** All metrics of a process. */
export interface ProcessMetrics extends Metrics {
  /**
   * Those of one among many, in which its users have named things: of what is counted it has at most 1,000 series of a
   * name, and what is beyond is counted as one whose labels are `(other)`.
   */
  withLabels(labels: Readonly<Record<string, string>>): LabelledMetrics;
  readonly contentType: string;
  /** All of it as Prometheus text. */
  text(): Promise<string>;
}

const MAX_SERIES = 1000;
/** Stands for what there is no room for. */
const OTHER = '(other)';
/** Parts that are collected at a time. */
const AT_ONCE = 10;

export function createMetrics(): ProcessMetrics {
  const registry = new Registry();
  const parts = new Set<Registry>();
  return {
    ...metricsOf(registry, Number.POSITIVE_INFINITY),
    withLabels(labels) {
      const part = new Registry();
      part.setDefaultLabels(labels);
      parts.add(part);
      return { ...metricsOf(part, MAX_SERIES), end: () => void parts.delete(part) };
    },
    contentType: registry.contentType,
    async text() {
      const families = new Map<string, string[]>();
      const all = [registry, ...parts];
      for (let at = 0; at < all.length; at += AT_ONCE)
        for (const { head, series } of (
          await Promise.all(all.slice(at, at + AT_ONCE).map(familiesIn))
        ).flat()) {
          const known = families.get(head);
          if (known === undefined) families.set(head, series);
          else for (const one of series) known.push(one);
        }
      return `${[...families].map(([head, series]) => [head, ...series].join('\n')).join('\n\n')}\n`;
    },
  };
}

/** A metric that several registries have is written once, with the series of all of them. */
const familiesIn = (registry: Registry) =>
  Promise.all(
    registry.getMetricsAsArray().map(async ({ name }) => {
      const text = await registry.getSingleMetricAsString(name);
      const [help, type, ...series] = text.split('\n');
      return { head: `${help}\n${type}`, series };
    }),
  );

function metricsOf(registry: Registry, mostSeries: number): Metrics {
  const registers = [registry];
  return {
    counter({ name, help, labels }) {
      const counter = new Counter({ name, help, labelNames: [...labels], registers });
      const place = limitSeries(labels, mostSeries);
      return (values, by = 1) => counter.inc(place(values), by);
    },
    histogram({ name, help, labels, buckets }) {
      const histogram = new Histogram({
        name,
        help,
        labelNames: [...labels],
        buckets: [...buckets],
        registers,
      });
      const place = limitSeries(labels, mostSeries);
      return (values, value) => histogram.observe(place(values), value);
    },
    gauge({ name, help, labels }, collect) {
      new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers,
        collect() {
          this.reset();
          return collect((values, value) => this.set(values, value));
        },
      });
    },
    total({ name, help }, read) {
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    },
  };
}

/** Where to count what has these labels: as they are, as long as there is room for them. */
function limitSeries<Name extends string>(labels: readonly Name[], most: number) {
  if (most === Number.POSITIVE_INFINITY) return (values: Labels<Name>) => values;
  const known = new Set<string>();
  return (values: Labels<Name>): Labels<Name> => {
    const key = labels.map(label => values[label]).join('\n');
    if (known.has(key)) return values;
    if (known.size < most) {
      known.add(key);
      return values;
    }
    const others: Record<Name, string> = { ...values };
    for (const label of labels) others[label] = OTHER;
    return others;
  };
}
