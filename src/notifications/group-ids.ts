import { createHash } from 'node:crypto';
import type { HeadgateEvent } from '../events/event.ts';
import type { IncidentRow } from '../storage/storage.ts';
import type { Hold } from './holds.ts';
import type { Grouping } from './notification.ts';

/** An end goes where its alarm went, whatever its own fields say. */
export const groupIdOf = (event: HeadgateEvent, incident: IncidentRow, grouping: Grouping): string =>
  incident.state === 'closed' && incident.group_id !== null
    ? incident.group_id
    : hashOf([incident.notification, valuesOf(event, grouping)]);

/** What is held back for one reason is told together once that is over, in so far as it would have been. */
export const heldGroupId = (
  event: HeadgateEvent,
  incident: IncidentRow,
  grouping: Grouping,
  { pipeline, target }: Hold,
): string => hashOf([incident.notification, valuesOf(event, grouping), pipeline, target]);

const valuesOf = (event: HeadgateEvent, { fields }: Grouping): unknown =>
  fields.map(name => [name, event[name] ?? null]);

const hashOf = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 27);
