import type { Notification } from '../notifications/notification.ts';
import { nameMatcher } from '../notifications/subjects.ts';
import type { Target } from '../targets/target.ts';
import type { Findings } from './finding.ts';
import type { Origin } from './issues.ts';
import type { Item } from './items.ts';
import type { ConfigProblem } from './problems.ts';
import type { PullInterval } from './read-settings.ts';
import { circles } from './target-circles.ts';
import { resolved, type TargetGraph } from './target-graph.ts';
import { targetsOfNotifications, waysOfTargets } from './target-references.ts';
import { trials } from './trials.ts';
import { variablesOf } from './variables.ts';

interface Crossed {
  readonly targets: readonly Item[];
  readonly notifications: readonly Item[];
  readonly graph: TargetGraph;
}

/** Holds targets and notifications against each other; what is wrong in itself counts by its id. */
export function crossCheck({ targets, notifications, graph }: Crossed): Findings {
  const variables = variablesOf(notifications);
  const ofNotification = targetsOfNotifications(graph);
  const ways = waysOfTargets(graph);
  const named = notifications.map(ofNotification);
  return {
    problems: [
      ...ways.problems,
      ...circles(graph),
      ...named.flatMap(one => one.problems),
      ...targets.flatMap(item => variables.ofTarget(item)),
      ...notifications.flatMap(item => variables.ofNotification(item)),
    ],
    warnings: [...ways.warnings, ...named.flatMap(one => one.warnings), ...trials(targets, notifications)],
  };
}

/** The notification with ids nobody has, and those of default targets, exchanged for what stands in. */
export function withStandIns(notification: Notification, graph: TargetGraph): Notification {
  if (graph.standIn === undefined) return notification;
  const targets = notification.targets.map(id => resolved(graph, id) ?? id);
  return { ...notification, targets: [...new Set(targets)] };
}

/** The target with a fallback and with routes that lead somewhere, by the same rule. */
export function withWays(target: Target, graph: TargetGraph): Target {
  const { fallback, routes } = target;
  return {
    ...target,
    ...(fallback !== undefined && { fallback: resolved(graph, fallback) }),
    ...(routes && { routes: event => routes(event).map(id => resolved(graph, id) ?? id) }),
  };
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
  const { rule } = notification;
  if (rule.source !== 'component' && rule.source !== 'pipeline') return { problems: [], warnings: [] };
  const { timeWindow } = rule.conf;
  const read =
    rule.source === 'pipeline'
      ? intervals.filter(({ pipeline }) => nameMatcher(rule.conf)(pipeline))
      : intervals;
  const tooSlow = read.filter(({ interval }) => timeWindow.ms < READINGS_PER_WINDOW * interval.ms);
  if (timeWindow.ms >= SHORT_WINDOW_MS && tooSlow.length === 0) return { problems: [], warnings: [] };
  const place = origin.place([...item.path, 'conf', 'timeWindow']);
  const slow = tooSlow[0];
  const warnings: ConfigProblem[] =
    timeWindow.ms < SHORT_WINDOW_MS
      ? [{ ...place, message: `${timeWindow.text} is a short window: under 60s brief pauses become alarms` }]
      : [];
  if (slow === undefined) return { problems: [], warnings };
  const message = `${timeWindow.text} is less than ${READINGS_PER_WINDOW} times the interval of pipeline '${slow.pipeline}' (${slow.interval.text}); make the window longer or the interval shorter`;
  return tooSlow.length === read.length
    ? { problems: [{ ...place, message }], warnings }
    : { problems: [], warnings: [...warnings, { ...place, message }] };
}
