import type { HeadgateEvent, Severity } from '../events/event.ts';
import { ownSeverity } from '../events/severity.ts';
import type { MessageRow } from '../storage/storage.ts';
import type { Origin } from './transition.ts';

/** What a target makes of an event for people; undefined `text` where its type sets none. */
interface BulletinTarget {
  readonly title: string | undefined;
  readonly severity: Severity | undefined;
  text(event: HeadgateEvent): string | undefined;
}

/**
 * The one row of the bulletin that a notification keeps, whether or not it has a bulletin_message target: that target
 * only sets heading, text and severity. `openCount` is the number of its open incidents after the event.
 */
export function bulletinRow(
  origin: Origin,
  targets: readonly BulletinTarget[],
  event: HeadgateEvent,
  openCount: number,
): MessageRow {
  const own = targets
    .map(target => ({ ...target, text: target.text(event) }))
    .find(({ text }) => text !== undefined);
  const others = openCount - (event.status === 'ALARM' ? 1 : 0);
  const isOpen = others > 0 || event.status === 'ALARM';
  return {
    id: origin.notification,
    severity: isOpen ? (ownSeverity(event.__severity) ?? own?.severity ?? origin.severity) : event.severity,
    title: own?.title ?? 'Notification',
    text: `${own?.text ?? event._raw}${others > 0 ? ` (${others} more open)` : ''}`,
    time: event._time * 1000,
    group_name: null,
    metadata: null,
  };
}
