import { EXTERNAL_HINTS } from '../../events/delivery-hints.ts';
import { RESERVED_FIELDS } from '../../events/system-fields.ts';
import type { Storage } from '../../storage/storage.ts';

type Stores = Pick<ReturnType<Storage['in']>, 'deliveries' | 'events'>;

/** Reads the event of an incident that was notified last; empty when it is not in the store any more. */
export async function lastEvent(
  stores: Stores,
  incident: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { rows } = await stores.deliveries.list({ incident }, { offset: 0, limit: 1 });
  const event = rows[0] && (await stores.events.get(rows[0].event_id));
  const last: unknown = JSON.parse(event?.body ?? '{}');
  return isRecord(last) ? last : {};
}

/** Reads the `targetConfigs` of the last event: the recipients of an alarm by mail get its end. */
export async function lastTargetConfigs(
  stores: Stores,
  incident: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { __targetConfigs: configs } = await lastEvent(stores, incident);
  return isRecord(configs) ? configs : undefined;
}

/** Reads the delivery hints that the sender gave to the event that was notified last. */
export async function lastDeliveryHints(
  stores: Stores,
  incident: string,
): Promise<Readonly<Record<string, unknown>>> {
  const last = await lastEvent(stores, incident);
  return Object.fromEntries(Object.entries(last).filter(([name]) => EXTERNAL_HINTS.includes(name)));
}

/** Fields that say of one event why it was sent; others of its incident do not have them. */
const OF_ONE_EVENT: ReadonlySet<string> = new Set([
  'reminder',
  'escalated',
  'silence',
  'silenceComment',
  'silenceAuthor',
  'inhibition',
  'inhibitedBy',
]);

/** The fields that a further event of the incident has as well. */
export const lastingFields = (event: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(event).filter(([name]) => !OF_ONE_EVENT.has(name) && !RESERVED.has(name)),
  );

const RESERVED: ReadonlySet<string> = new Set(RESERVED_FIELDS);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
