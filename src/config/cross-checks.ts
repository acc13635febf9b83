import type { Notification } from '../notifications/notification.ts';
import type { Origin } from './issues.ts';
import type { Item } from './items.ts';
import type { ConfigProblem } from './problems.ts';
import { quote } from './quote.ts';
import type { PullInterval } from './read-settings.ts';
import { childOf } from './schema-walk.ts';
import { didYouMean } from './suggest.ts';

/** Targets that notifications name and nobody has written. */
export function unknownTargets(
  notifications: readonly Item[],
  targetIds: ReadonlySet<string>,
  origin: Origin,
): ConfigProblem[] {
  const messages = new Map<string, string>();
  const messageFor = (name: string): string => {
    const message =
      messages.get(name) ?? `target ${quote(name)} does not exist${didYouMean(name, targetIds)}`;
    messages.set(name, message);
    return message;
  };
  return notifications.flatMap(({ path, value }) => {
    const named = childOf(value, 'targets');
    if (!Array.isArray(named)) return [];
    return named.flatMap((name: unknown, index) =>
      typeof name !== 'string' || targetIds.has(name)
        ? []
        : [{ ...origin.place([...path, 'targets', index]), message: messageFor(name) }],
    );
  });
}

export interface WindowFindings {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

const SHORT_WINDOW_MS = 60_000;
/** A window must see several readings, or one late reading looks like silence. */
const READINGS_PER_WINDOW = 3;

/** Holds a notification's window against how often pipelines are read. */
export function checkWindow(
  notification: Notification,
  item: Item,
  intervals: readonly PullInterval[],
  origin: Origin,
): WindowFindings {
  const { timeWindow } = notification.rule.conf;
  const tooSlow = intervals.filter(({ interval }) => timeWindow.ms < READINGS_PER_WINDOW * interval.ms);
  if (timeWindow.ms >= SHORT_WINDOW_MS && tooSlow.length === 0) return { problems: [], warnings: [] };
  const place = origin.place([...item.path, 'conf', 'timeWindow']);
  const slow = tooSlow[0];
  const warnings: ConfigProblem[] =
    timeWindow.ms < SHORT_WINDOW_MS
      ? [{ ...place, message: `${timeWindow.text} is a short window: under 60s brief pauses become alarms` }]
      : [];
  if (slow === undefined) return { problems: [], warnings };
  const message = `${timeWindow.text} is less than ${READINGS_PER_WINDOW} times the interval of pipeline '${slow.pipeline}' (${slow.interval.text}); make the window longer or the interval shorter`;
  return tooSlow.length === intervals.length
    ? { problems: [{ ...place, message }], warnings }
    : { problems: [], warnings: [...warnings, { ...place, message }] };
}
