import { backpressureDest } from './backpressure-dest.ts';
import { certificateExpiration } from './certificate-expiration.ts';
import type { ComponentCondition, ComponentRule } from './condition.ts';
import { credentialExpiration } from './credential-expiration.ts';
import { droppedEvents } from './dropped-events.ts';
import { expression } from './expression.ts';
import type { FactCondition, FactRule } from './fact.ts';
import { type HeartbeatCondition, type HeartbeatRule, heartbeat } from './heartbeat.ts';
import { highVolume } from './high-volume.ts';
import { highVolumeDest } from './high-volume-dest.ts';
import { licenseExpiration } from './license-expiration.ts';
import { lowVolume } from './low-volume.ts';
import { lowVolumeDest } from './low-volume-dest.ts';
import { monitorAlerts } from './monitor-alerts.ts';
import { noData } from './no-data.ts';
import { noDataDest } from './no-data-dest.ts';
import { persistentQueueUsage } from './persistent-queue-usage.ts';
import { persistentQueueUsageSource } from './persistent-queue-usage-source.ts';
import type { PipelineCondition, PipelineRule } from './pipeline.ts';
import { pipelineUnreachable } from './pipeline-unreachable.ts';
import type { PostedCondition, PostedRule } from './posted.ts';
import { search } from './search.ts';
import { sourceErrors } from './source-errors.ts';
import { unhealthyDest } from './unhealthy-dest.ts';
import { unhealthySource } from './unhealthy-source.ts';

/**
 * A kind of rule. Its source says who finds out: Headgate, which looks at components, at pipelines and at what it knows to
 * expire and waits for beats, or whoever posts events.
 */
export type Condition =
  | ComponentCondition
  | PipelineCondition
  | FactCondition
  | PostedCondition
  | HeartbeatCondition;

/** A condition with its conf. */
export type Rule = ComponentRule | PipelineRule | FactRule | PostedRule | HeartbeatRule;

/** Every condition there is. */
export const conditions: readonly Condition[] = [
  noData,
  highVolume,
  lowVolume,
  unhealthySource,
  sourceErrors,
  persistentQueueUsageSource,
  noDataDest,
  highVolumeDest,
  lowVolumeDest,
  unhealthyDest,
  backpressureDest,
  persistentQueueUsage,
  droppedEvents,
  pipelineUnreachable,
  certificateExpiration,
  credentialExpiration,
  expression,
  heartbeat,
  licenseExpiration,
  search,
  monitorAlerts,
];

export const findCondition = (id: string): Condition | undefined =>
  conditions.find(condition => condition.id === id);
