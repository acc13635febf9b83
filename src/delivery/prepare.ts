import type { HeadgateEvent } from '../events/event.ts';
import type { DeliveryRow, DeliveryStore, EventStore } from '../storage/storage.ts';
import type { Target } from '../targets/target.ts';
import { outgoing } from './outgoing.ts';
import type { Waiting } from './queue.ts';

/** A delivery that was looked at before it is sent. */
export interface Prepared {
  readonly entry: Waiting;
  /** As the target gets it; undefined when nothing is sent. */
  readonly event: HeadgateEvent | undefined;
  /** Why it is not to be sent. */
  readonly skippedBecause: string | undefined;
  /** It is an end, and the target's fallback was told of the beginning. */
  readonly isGiven: boolean;
}

export interface PrepareOptions {
  readonly stores: { readonly deliveries: DeliveryStore; readonly events: EventStore };
  readonly target: Target;
  /** What `cribl_host` says. */
  readonly instanceName: string;
}

/** Rejects when the store cannot be read. */
export async function prepare(
  entries: readonly Waiting[],
  { stores, target, instanceName }: PrepareOptions,
): Promise<readonly Prepared[]> {
  const stored = await storedEvents(entries, stores.events);
  return Promise.all(
    entries.map(async (entry): Promise<Prepared> => {
      const { row } = entry;
      const [skippedBecause, isGiven] = await Promise.all([
        whyNot(row, stores.deliveries),
        isGivenTo(row, target, stores.deliveries),
      ]);
      const event = skippedBecause === undefined ? (entry.event ?? stored.get(row.event_id)) : undefined;
      const whole = event && outgoing(event, target.settings.systemFields, instanceName);
      return { entry, event: whole, skippedBecause, isGiven };
    }),
  );
}

/** Why it would tell the receiver nothing, or mislead it: an alarm that comes after its end would stay for ever. */
async function whyNot(row: DeliveryRow, deliveries: DeliveryStore): Promise<string | undefined> {
  const { incident_id: incident, target, seq } = row;
  // What travelled with others goes on doing so.
  if (row.batch !== null) return undefined;
  if (row.status === 'OK' && !(await deliveries.reached(incident, target)))
    return 'the alarm it resolves did not reach this target';
  if (row.retried_at !== null && (await deliveries.overtaken(incident, target, seq)))
    return 'this target has got later news of the incident since';
  return undefined;
}

/** Asked before the first attempt: an alarm goes to the fallback before its end is tried. */
async function isGivenTo(
  row: DeliveryRow,
  { fallback }: Target,
  deliveries: DeliveryStore,
): Promise<boolean> {
  if (row.status !== 'OK' || fallback === undefined || row.attempts > row.retried_from) return false;
  return deliveries.isGiven(row.incident_id, fallback);
}

async function storedEvents(
  entries: readonly Waiting[],
  events: EventStore,
): Promise<ReadonlyMap<string, HeadgateEvent>> {
  const missing = entries.flatMap(({ event, row }) => (event === undefined ? [row.event_id] : []));
  const rows = missing.length === 0 ? [] : await events.byIds(missing);
  return new Map(rows.map(row => [row.id, parseStored(row.body)]));
}

/** The body was written by this product from a `HeadgateEvent`. */
const parseStored = (body: string): HeadgateEvent => JSON.parse(body) as HeadgateEvent;
