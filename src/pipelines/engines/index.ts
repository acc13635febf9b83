import type { ProfiledSettings } from '../settings.ts';
import { customProfile } from './custom.ts';
import { fluentBit } from './fluent-bit.ts';
import { fluentd } from './fluentd.ts';
import { fluentdPrometheus } from './fluentd-prometheus.ts';
import { logstash } from './logstash.ts';
import { otelcol } from './otelcol.ts';
import type { EngineProfile } from './profile.ts';
import { prometheus } from './prometheus.ts';
import { redpandaConnect } from './redpanda-connect.ts';
import { telegraf } from './telegraf.ts';
import { vector } from './vector.ts';

const PROFILES = {
  vector,
  otelcol,
  'fluent-bit': fluentBit,
  'fluentd-prometheus': fluentdPrometheus,
  telegraf,
  'redpanda-connect': redpandaConnect,
  prometheus,
  logstash,
  fluentd,
} as const;

/** How to read the pages of a pipeline. */
export const profileOf = (settings: ProfiledSettings): EngineProfile =>
  settings.engine === 'custom' ? customProfile(settings.rules ?? []) : PROFILES[settings.engine];
