import { alloy } from './alloy.ts';
import { cribl } from './cribl.ts';
import { type CustomRule, customProfile } from './custom.ts';
import { filebeat } from './filebeat.ts';
import { fluentBit } from './fluent-bit.ts';
import { fluentd } from './fluentd.ts';
import { fluentdPrometheus } from './fluentd-prometheus.ts';
import { kafkaConnect } from './kafka-connect.ts';
import { logstash } from './logstash.ts';
import { nifi } from './nifi.ts';
import { otelcol } from './otelcol.ts';
import { type EngineProfile, inNamespace } from './profile.ts';
import { prometheus } from './prometheus.ts';
import { redpandaConnect } from './redpanda-connect.ts';
import { syslogNg } from './syslog-ng.ts';
import { telegraf } from './telegraf.ts';
import { vector } from './vector.ts';

/** Engines with a page of Prometheus text, which some push as remote write or OTLP too. */
const TEXT_PROFILES = [
  vector,
  otelcol,
  fluentBit,
  fluentdPrometheus,
  telegraf,
  redpandaConnect,
  prometheus,
  alloy,
  syslogNg,
  kafkaConnect,
  nifi,
  cribl,
];

/** Engines with a page of JSON of their own, which they never send by themselves. */
const JSON_PROFILES = [logstash, fluentd, filebeat];

export const TEXT_ENGINES = TEXT_PROFILES.map(({ engine }) => engine);
export const JSON_ENGINES = JSON_PROFILES.map(({ engine }) => engine);

const PROFILES = new Map<string, EngineProfile>(
  [...TEXT_PROFILES, ...JSON_PROFILES].map(profile => [profile.engine, profile]),
);

/** The part of a pipeline's settings that selects its profile. */
interface Profiled {
  readonly engine: string;
  /** Only of the engine `custom`. */
  readonly rules?: readonly CustomRule[] | undefined;
  /** Only of engines that have one. */
  readonly namespace?: string | undefined;
}

/** How to read the pages of a pipeline. */
export function profileOf({ engine, rules = [], namespace }: Profiled): EngineProfile {
  const profile = PROFILES.get(engine) ?? customProfile(rules);
  return namespace === undefined ? profile : inNamespace(profile, namespace);
}

/** Engines whose configuration can change what the names of their series begin with. */
export const NAMESPACE_ENGINES: readonly string[] = [...PROFILES.values()].flatMap(({ engine, namespace }) =>
  namespace === undefined ? [] : [engine],
);

/** Where an engine shows its metrics, as it comes. */
export const metricsPathOf = (engine: string): string => PROFILES.get(engine)?.metricsPath ?? '/metrics';

/** Where to look when the page at that url is not the engine's; '' when it may be. */
export function addressHint(engine: string, url: string): string {
  if (engine === 'custom' || isJsonEngine(engine)) return '';
  const path = metricsPathOf(engine);
  return new URL(url).pathname === path ? '' : `; ${engine} shows its metrics at ${path}`;
}

/** True for an engine whose page is JSON of its own. */
export const isJsonEngine = (engine: string): boolean => JSON_ENGINES.some(one => one === engine);
