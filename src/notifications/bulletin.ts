import type { HeadgateEvent } from '../events/event.ts';
import type { MessageRow } from '../storage/storage.ts';
import type { Target } from '../targets/target.ts';
import type { Origin } from './transition.ts';

/**
 * The one row of the bulletin that a notification keeps, whether or not it has a bulletin_message target: that target
 * only sets heading and text. `openCount` is the number of its open incidents after the event.
 */
export function bulletinRow(
  origin: Origin,
  targets: readonly Pick<Target, 'bulletinText' | 'bulletinTitle'>[],
  event: HeadgateEvent,
  openCount: number,
): MessageRow {
  const own = targets
    .map(target => ({ title: target.bulletinTitle, text: target.bulletinText(event) }))
    .find(({ text }) => text !== undefined);
  const others = openCount - (event.status === 'ALARM' ? 1 : 0);
  return {
    id: origin.notification,
    severity: others > 0 ? origin.severity : event.severity,
    title: own?.title ?? 'Notification',
    text: `${own?.text ?? event._raw}${others > 0 ? ` (${others} more open)` : ''}`,
    time: event._time * 1000,
    group_name: null,
    metadata: null,
  };
}
