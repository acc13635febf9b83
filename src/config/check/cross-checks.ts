import type { Duration } from '../../lib/duration.ts';
import type { Notification } from '../../notifications/notification.ts';
import { createNameMatcher, isExact, matchesPipeline } from '../../notifications/subjects.ts';
import type { PipelineSettings } from '../../pipelines/settings.ts';
import type { Target } from '../../targets/target.ts';
import { type ConfigProblem, didYouMean, type ItemFindings, quote } from '../problems.ts';

import type { ValueOrigin } from '../schema-problems.ts';
import type { ConfigItem } from '../yaml/document.ts';
import { evaluateSamples, variablesOf } from './expressions.ts';
import { findCycles, resolveTarget, type TargetGraph } from './target-graph.ts';
import { checkTargetEdges, notificationTargetsChecker } from './target-references.ts';

interface CrossCheckInput {
  readonly targets: readonly ConfigItem[];
  readonly notifications: readonly ConfigItem[];
  readonly graph: TargetGraph;
}

/** Holds targets and notifications against each other; what is wrong in itself counts by its id. */
export function crossCheck({ targets, notifications, graph }: CrossCheckInput): ItemFindings {
  const variables = variablesOf(notifications, graph);
  const ofNotification = notificationTargetsChecker(graph);
  const edges = checkTargetEdges(graph);
  const named = notifications.map(ofNotification);
  return {
    problems: [
      ...edges.problems,
      ...findCycles(graph),
      ...named.flatMap(one => one.problems),
      ...targets.flatMap(item => variables.ofTarget(item)),
      ...notifications.flatMap(item => variables.ofNotification(item)),
    ],
    warnings: [
      ...edges.warnings,
      ...named.flatMap(one => one.warnings),
      ...evaluateSamples(targets, notifications),
    ],
  };
}

/** The notification with unknown ids, and those of default targets, replaced by the target that a default target names. */
export function withDefaultTarget(notification: Notification, graph: TargetGraph): Notification {
  if (graph.defaultTarget === undefined) return notification;
  const targets = notification.targets.map(id => resolveTarget(graph, id) ?? id);
  return { ...notification, targets: [...new Set(targets)] };
}

/** The target with a fallback and with routes that lead somewhere, by the same rule. */
export function withResolvedTargets(target: Target, graph: TargetGraph): Target {
  const { fallback, routes } = target;
  return {
    ...target,
    ...(fallback !== undefined && { fallback: resolveTarget(graph, fallback) }),
    ...(routes && { routes: (event, warn) => routes(event, warn).map(id => resolveTarget(graph, id) ?? id) }),
  };
}

export interface WindowFindings {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

const SHORT_WINDOW_MS = 60_000;
/** A window must see several readings, or one late reading looks like silence. */
const READINGS_PER_WINDOW = 3;

export interface PullInterval {
  readonly pipeline: string;
  readonly interval: Duration;
}

/** How often the pipelines are read that do not push. */
export const pullIntervals = (pipelines: readonly PipelineSettings[]): PullInterval[] =>
  pipelines.flatMap(pipeline =>
    pipeline.push === true ? [] : [{ pipeline: pipeline.id, interval: pipeline.interval }],
  );

/** Compares a notification's window with how often pipelines are read. */
export function checkWindow(
  notification: Notification,
  item: ConfigItem,
  intervals: readonly PullInterval[],
  origin: ValueOrigin,
): WindowFindings {
  const { readings } = notification.rule;
  if (readings === undefined) return { problems: [], warnings: [] };
  const { window: timeWindow, pipelines } = readings;
  const isRead = createNameMatcher(pipelines);
  const read = intervals.filter(({ pipeline }) => isRead(pipeline));
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

/** Warns of a notification on pipelines that matches none: nothing is known of it, so it never alerts. */
export function unknownPipeline(
  { rule }: Notification,
  item: ConfigItem,
  pipelines: readonly PipelineSettings[],
  origin: ValueOrigin,
): ConfigProblem[] {
  const selector = rule.pipelines;
  if (selector === undefined || pipelines.some(pipeline => matchesPipeline(selector, pipeline))) return [];
  const { name, __workerGroup: group } = selector;
  const where = group === undefined ? '' : ` in the group ${quote(group)}`;
  const ids = pipelines.map(({ id }) => id);
  const message = isExact(selector)
    ? `no pipeline${where} has the id ${quote(name)}${didYouMean(name, ids)}`
    : `no pipeline${where} has an id like ${quote(name)}; nothing is sent until one has`;
  return [{ ...origin.place([...item.path, 'conf', 'name']), message }];
}
