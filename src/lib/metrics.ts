import { Counter, Gauge, Histogram, Registry } from 'prom-client';

type Labels<Name extends string> = Readonly<Record<Name, string>>;

/** What a metric is called, what it says, and by what it is told apart. */
interface Described<Name extends string> {
  /** By the conventions of Prometheus: base units, `_total` on what only grows. */
  readonly name: string;
  readonly help: string;
  /** Each has few values, none of which a caller can make up. */
  readonly labels: readonly Name[];
}

type Set<Name extends string> = (labels: Labels<Name>, value: number) => void;

/** What this process counts of itself, handed to whoever counts. */
export interface Metrics {
  /** Answers what adds to it: 1, or as much as is said. */
  counter<Name extends string>(described: Described<Name>): (labels: Labels<Name>, by?: number) => void;
  /** Answers what notes a value, in the unit that the name says. */
  histogram<Name extends string>(
    described: Described<Name> & { readonly buckets: readonly number[] },
  ): (labels: Labels<Name>, value: number) => void;
  /** Asked whenever somebody reads: `collect` sets what there is now. */
  gauge<Name extends string>(
    described: Described<Name>,
    collect: (set: Set<Name>) => void | Promise<void>,
  ): void;
  /** The same, of something that only grows and is counted elsewhere. */
  total(described: Omit<Described<never>, 'labels'>, read: () => number): void;
  readonly contentType: string;
  /** All of it as Prometheus text. */
  text(): Promise<string>;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  return {
    counter({ name, help, labels }) {
      const counter = new Counter({ name, help, labelNames: [...labels], registers });
      return (values, by = 1) => counter.inc(values, by);
    },
    histogram({ name, help, labels, buckets }) {
      const histogram = new Histogram({
        name,
        help,
        labelNames: [...labels],
        buckets: [...buckets],
        registers,
      });
      return (values, value) => histogram.observe(values, value);
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
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}
