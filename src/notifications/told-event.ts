import { POSTED_STEERING } from '../events/steering.ts';
import type { Storage } from '../storage/storage.ts';

type Stores = Pick<ReturnType<Storage['in']>, 'deliveries' | 'events'>;

/** The event of an incident that was told last; without any field when nothing is kept of it. */
export async function toldEvent(
  stores: Stores,
  incident: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { rows } = await stores.deliveries.list({ incident }, { offset: 0, limit: 1 });
  const event = rows[0] && (await stores.events.get(rows[0].event_id));
  const told: unknown = JSON.parse(event?.body ?? '{}');
  return isRecord(told) ? told : {};
}

/** What its targets were told beside the event: whoever got the alarm by mail gets its end. */
export async function configsTold(
  stores: Stores,
  incident: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { __targetConfigs: configs } = await toldEvent(stores, incident);
  return isRecord(configs) ? configs : undefined;
}

/** What its sender gave the event that was told last, to steer how targets send it. */
export async function steeringTold(
  stores: Stores,
  incident: string,
): Promise<Readonly<Record<string, unknown>>> {
  const told = await toldEvent(stores, incident);
  return Object.fromEntries(Object.entries(told).filter(([name]) => POSTED_STEERING.includes(name)));
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
