import { backpressureDest } from './backpressure.ts';
import type { ComponentCondition, ComponentRule } from './condition.ts';
import { droppedEvents, sourceErrors } from './counts.ts';
import {
  certificateExpiration,
  credentialExpiration,
  type ExpiryCondition,
  type ExpiryRule,
} from './expiration.ts';
import { expression } from './expression.ts';
import {
  type ExternalCondition,
  type ExternalRule,
  licenseExpiration,
  monitorAlerts,
  search,
} from './external.ts';
import { type HeartbeatCondition, type HeartbeatRule, heartbeat } from './heartbeat.ts';
import { noData, noDataDest } from './no-data.ts';
import { persistentQueueUsage, persistentQueueUsageSource } from './queue-usage.ts';
import { unhealthyDest, unhealthySource } from './unhealthy.ts';
import { type PipelineCondition, type PipelineRule, pipelineUnreachable } from './unreachable.ts';
import { highVolume, highVolumeDest, lowVolume, lowVolumeDest } from './volume.ts';

/**
 * A kind of rule. Its source says who finds out: Headgate, which looks at components, at pipelines and at what it knows to
 * expire and waits for beats, or whoever posts events.
 */
export type Condition =
  | ComponentCondition
  | PipelineCondition
  | ExpiryCondition
  | ExternalCondition
  | HeartbeatCondition;

/** A condition with its conf. */
export type AlertingRule = ComponentRule | PipelineRule | ExpiryRule | ExternalRule | HeartbeatRule;

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
