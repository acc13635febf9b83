import { OWN_FIELDS } from '../events/event-fields.ts';
import { POSTED_STEERING } from '../events/steering.ts';
import type { IncidentRow, Storage } from '../storage/storage.ts';
import type { Incidents } from './incidents.ts';
import { toldEvent } from './told-event.ts';
import type { OpenIncident, PostedWatch } from './watch.ts';

export interface RemindersOptions {
  readonly workspace: string;
  readonly storage: Storage;
  readonly incidents: Incidents;
}

const own = new Set(OWN_FIELDS);

/** Tells incidents of posted events again: with the text they have, and the fields of the event that was told last. */
export function createReminders({ workspace, storage, incidents }: RemindersOptions) {
  const stores = storage.in(workspace);

  /** Not kept in memory, where each open incident would hold what hardly one ever needs. */
  async function fieldsTold(incident: IncidentRow): Promise<Record<string, unknown>> {
    const told = await toldEvent(stores, incident.id);
    return Object.fromEntries(
      Object.entries(told).filter(
        ([name]) => !own.has(name) && (!name.startsWith('__') || POSTED_STEERING.includes(name)),
      ),
    );
  }

  async function remind(watch: PostedWatch, key: string, incident: OpenIncident): Promise<void> {
    const fields = await fieldsTold(incident.row);
    if (watch.incidents.get(key) !== incident || watch.writing.has(key)) return;
    await incidents.tell(watch, {
      subject: { key, name: key, component: undefined },
      status: 'ALARM',
      description: { text: incident.row.text, fields },
    });
  }

  return (watch: PostedWatch, now: number): void => {
    const { repeatMs } = watch.notification;
    if (repeatMs === null) return;
    for (const [key, incident] of watch.incidents) {
      if (now - incident.toldAt < repeatMs || watch.writing.has(key) || watch.reminding.has(key)) continue;
      watch.reminding.add(key);
      void remind(watch, key, incident)
        // The store cannot be read: the next evaluation tries again.
        .catch(() => {})
        .finally(() => watch.reminding.delete(key));
    }
  };
}
