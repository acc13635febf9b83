import { EXTERNAL_HINTS } from '../../events/delivery-hints.ts';
import type { Storage } from '../../storage/storage.ts';

type Stores = Pick<ReturnType<Storage['in']>, 'deliveries' | 'events'>;

/** The event of an incident that was told last; without any field when nothing is kept of it. */
export async function lastEvent(
  stores: Stores,
  incident: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { rows } = await stores.deliveries.list({ incident }, { offset: 0, limit: 1 });
  const event = rows[0] && (await stores.events.get(rows[0].event_id));
  const last: unknown = JSON.parse(event?.body ?? '{}');
  return isRecord(last) ? last : {};
}

/** What its targets were told beside the event: whoever got the alarm by mail gets its end. */
export async function lastTargetConfigs(
  stores: Stores,
  incident: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { __targetConfigs: configs } = await lastEvent(stores, incident);
  return isRecord(configs) ? configs : undefined;
}

/** What its sender gave the event that was told last, to steer how targets send it. */
export async function lastDeliveryHints(
  stores: Stores,
  incident: string,
): Promise<Readonly<Record<string, unknown>>> {
  const last = await lastEvent(stores, incident);
  return Object.fromEntries(Object.entries(last).filter(([name]) => EXTERNAL_HINTS.includes(name)));
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
