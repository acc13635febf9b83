import type { HeadgateEvent } from '../events/event.ts';
import type { DeliveryRow, DeliveryStore, EventStore, Told } from '../storage/storage.ts';
import type { Target } from '../targets/target.ts';
import { outgoing } from './outgoing.ts';
import type { Waiting } from './queue.ts';

/** A delivery that was looked at before it is sent. */
export interface Prepared {
  readonly entry: Waiting;
  /** As it was made; undefined when it is not in the store any more. */
  readonly made: HeadgateEvent | undefined;
  /** As the target gets it; undefined when nothing is sent. */
  readonly event: HeadgateEvent | undefined;
  /** Why it is not to be sent. */
  readonly skippedBecause: string | undefined;
  /** Of an end: the targets that were told of the beginning in place of this one, and not yet of the end. */
  readonly standIns: readonly string[];
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
      const told = isEndToLookAt(row) ? await stores.deliveries.told(row.incident_id, row.target) : undefined;
      const made = entry.event ?? stored.get(row.event_id);
      const whole = made && outgoing(made, target.settings.systemFields, instanceName);
      const skippedBecause =
        (whole && target.skipsBecause?.(whole)) ?? (await whyNot(row, told, stores.deliveries));
      const standIns = told !== undefined && isFirst(row) ? told.standIns : [];
      return {
        entry,
        made,
        event: skippedBecause === undefined ? whole : undefined,
        skippedBecause,
        standIns,
      };
    }),
  );
}

/** Why it would tell the receiver nothing, or mislead it: an alarm that comes after its end would stay for ever. */
async function whyNot(
  row: DeliveryRow,
  told: Told | undefined,
  deliveries: DeliveryStore,
): Promise<string | undefined> {
  const { incident_id: incident, target, seq } = row;
  // What travelled with others goes on doing so.
  if (row.batch !== null) return undefined;
  if (told?.isReached === false) return 'the alarm it resolves did not reach this target';
  if (row.retried_at !== null && (await deliveries.overtaken(incident, target, seq)))
    return 'this target has got later news of the incident since';
  return undefined;
}

/** An alarm goes to whoever stands in before its end is tried, so that they are known with the first attempt. */
const isFirst = ({ attempts, retried_from: from }: DeliveryRow): boolean => attempts <= from;

/** What travelled with others is sent whatever was told. */
const isEndToLookAt = (row: DeliveryRow): boolean =>
  row.status === 'OK' && (row.batch === null || isFirst(row));

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
