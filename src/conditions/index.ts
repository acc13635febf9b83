import { FACT_FIELDS } from '../events/facts.ts';
import { RESERVED_FIELDS } from '../events/system-fields.ts';
import { backpressureDest } from './backpressure.ts';
import { baseline } from './baseline.ts';
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
 * A kind of rule. Its source says where Headgate gets its evidence: it evaluates components, pipelines and certificates
 * or credentials with a known expiry, waits for heartbeats, or receives external events.
 */
export type Condition =
  | ComponentCondition
  | PipelineCondition
  | ExpiryCondition
  | ExternalCondition
  | HeartbeatCondition;

/** A condition with its conf. */
export type AlertingRule = ComponentRule | PipelineRule | ExpiryRule | ExternalRule | HeartbeatRule;

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
  baseline,
  heartbeat,
  licenseExpiration,
  search,
  monitorAlerts,
];

export const findCondition = (id: string): Condition | undefined =>
  conditions.find(condition => condition.id === id);

/** Fields of events that no single condition adds: of flapping, of silences and inhibitions that have ended, of flood summaries, of failing targets, of the bulletin. */
const COMMON_FIELDS = [
  ...RESERVED_FIELDS,
  'flapping',
  'changes',
  'silence',
  'silenceComment',
  'silenceAuthor',
  'inhibition',
  'inhibitedBy',
  ...FACT_FIELDS,
  'escalated',
  'first',
  'title',
  'text',
  'state',
  '__worker_group',
];

const isSent = (name: string): boolean => !name.startsWith('__');

/** Fields that events of the condition may have; senders and metadata may add others. */
const fieldsOf = ({ kind, sample, otherFields = [], senderFields = [] }: Condition): readonly string[] => [
  kind,
  ...Object.keys(sample?.fields ?? {}).filter(isSent),
  ...otherFields,
  ...senderFields,
];

/** Fields an event of some condition may have; the rest of an event is what its metadata or its sender adds. */
export const EVENT_FIELDS: ReadonlySet<string> = new Set([...COMMON_FIELDS, ...conditions.flatMap(fieldsOf)]);

/** The same with names that begin with `__`: as metadata, groups, the bulletin and mail see an event. */
export const WHOLE_EVENT_FIELDS: ReadonlySet<string> = new Set([...EVENT_FIELDS, '__pipeline']);
