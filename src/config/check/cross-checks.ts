import type { NameSelector } from '../../conditions/condition.ts';
import type { Duration } from '../../lib/duration.ts';
import type { Notification } from '../../notifications/notification.ts';
import { createNameMatcher, isExact, matchesPipeline } from '../../notifications/subjects.ts';
import type { PipelineSettings } from '../../pipelines/settings.ts';
import type { Target } from '../../targets/target.ts';
import { didYouMean, type Finding, finding, type ItemFindings, quote } from '../problems.ts';
import type { ValueOrigin } from '../schema-problems.ts';
import type { ConfigItem } from '../yaml/document.ts';
import { variablesOf } from './expressions.ts';
import type { PairLimit } from './pair-limit.ts';
import { evaluateSamples } from './samples.ts';
import { findCycles, resolveTarget, type TargetGraph } from './target-graph.ts';
import { checkTargetEdges, notificationTargetsChecker } from './target-references.ts';

interface CrossCheckInput {
  readonly targets: readonly ConfigItem[];
  readonly notifications: readonly ConfigItem[];
  readonly inhibitions: readonly ConfigItem[];
  readonly graph: TargetGraph;
  readonly pairs: PairLimit;
}

/** Holds targets and notifications against each other; what is wrong in itself counts by its id. */
export function crossCheck({
  targets,
  notifications,
  inhibitions,
  graph,
  pairs,
}: CrossCheckInput): ItemFindings {
  const variables = variablesOf(notifications, graph);
  const ofNotification = notificationTargetsChecker(graph, pairs);
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
      ...inhibitions.flatMap(item => variables.ofInhibition(item)),
    ],
  };
}

/** The notification with unknown ids, and those of default targets, replaced by the target that a default target names. */
export function withDefaultTarget(notification: Notification, graph: TargetGraph): Notification {
  if (graph.defaultTarget === undefined) return notification;
  const resolved = (ids: readonly string[]): readonly string[] => [
    ...new Set(ids.map(id => resolveTarget(graph, id) ?? id)),
  ];
  const { targets, escalation } = notification;
  return {
    ...notification,
    targets: resolved(targets),
    escalation: escalation && { ...escalation, targets: resolved(escalation.targets) },
  };
}

/** The target with a fallback and with routes that lead somewhere, by the same rule. */
export function withResolvedTargets(target: Target, graph: TargetGraph): Target {
  const { fallback, routes } = target;
  return {
    ...target,
    ...(fallback !== undefined && { fallback: resolveTarget(graph, fallback) }),
    ...(routes && {
      routes: (event, warn) =>
        routes(event, warn).map(taken => ({
          ...taken,
          output: resolveTarget(graph, taken.output) ?? taken.output,
        })),
    }),
  };
}

export interface WindowFindings {
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
}

const NOTHING: WindowFindings = { problems: [], warnings: [] };

const SHORT_WINDOW_MS = 60_000;
/** A window must see several readings, or one late reading looks like silence. */
const READINGS_PER_WINDOW = 3;

interface PullInterval {
  readonly id: string;
  readonly interval: Duration;
}

/** How often the pipelines are read that do not push. */
const pullIntervals = (pipelines: readonly PipelineSettings[]): PullInterval[] =>
  pipelines.flatMap(pipeline =>
    pipeline.push === true ? [] : [{ id: pipeline.id, interval: pipeline.interval }],
  );

/** Holds notifications against the pipelines. Names are looked up, and patterns compared within the limit. */
export class PipelineChecks {
  readonly #pairs: PairLimit;
  readonly #pipelines: readonly PipelineSettings[];
  readonly #byId: ReadonlyMap<string, PipelineSettings>;
  readonly #intervals: readonly PullInterval[];
  readonly #longestMs: number;

  constructor(pipelines: readonly PipelineSettings[], pairs: PairLimit) {
    this.#pairs = pairs;
    this.#pipelines = pipelines;
    this.#byId = new Map(pipelines.map(pipeline => [pipeline.id, pipeline]));
    this.#intervals = pullIntervals(pipelines);
    this.#longestMs = this.#intervals.reduce((longest, { interval }) => Math.max(longest, interval.ms), 0);
  }

  /** Compares a notification's window with how often pipelines are read. */
  window({ rule }: Notification, item: ConfigItem, origin: ValueOrigin): WindowFindings {
    const { readings } = rule;
    if (readings === undefined) return NOTHING;
    const { window: timeWindow, pipelines } = readings;
    const place = () => origin.place([...item.path, 'conf', 'timeWindow']);
    const warnings =
      timeWindow.ms < SHORT_WINDOW_MS
        ? [finding(place, `${timeWindow.text} is a short window: under 60s brief pauses become alarms`)]
        : [];
    const isSlow = ({ interval }: PullInterval): boolean => timeWindow.ms < READINGS_PER_WINDOW * interval.ms;
    if (timeWindow.ms >= READINGS_PER_WINDOW * this.#longestMs) return { problems: [], warnings };
    const read = this.#readBy(pipelines);
    const slow = read.find(isSlow);
    if (slow === undefined) return { problems: [], warnings };
    const message = `${timeWindow.text} is less than ${READINGS_PER_WINDOW} times the interval of pipeline '${slow.id}' (${slow.interval.text}); make the window longer or the interval shorter`;
    return read.every(isSlow)
      ? { problems: [finding(place, message)], warnings }
      : { problems: [], warnings: [...warnings, finding(place, message)] };
  }

  #readBy(selector: NameSelector): readonly PullInterval[] {
    if (isExact(selector)) {
      const pipeline = this.#byId.get(selector.name);
      return pipeline === undefined ? [] : pullIntervals([pipeline]);
    }
    const isRead = createNameMatcher(selector);
    return this.#intervals.filter(({ id }) => this.#pairs.take() && isRead(id));
  }

  /** Warns of a notification on pipelines that matches none: nothing is known of it, so it never alerts. */
  unknown({ rule }: Notification, item: ConfigItem, origin: ValueOrigin): Finding[] {
    const selector = rule.pipelines;
    if (selector === undefined || this.#isKnown(selector)) return [];
    const { name, __workerGroup: group } = selector;
    const where = group === undefined ? '' : ` in the group ${quote(group)}`;
    const message = () =>
      isExact(selector)
        ? `no pipeline${where} has the id ${quote(name)}${didYouMean(name, this.#byId.keys())}`
        : `no pipeline${where} has an id like ${quote(name)}; nothing is sent until one has`;
    return [finding(() => origin.place([...item.path, 'conf', 'name']), message)];
  }

  #isKnown(selector: NameSelector): boolean {
    if (isExact(selector)) {
      const pipeline = this.#byId.get(selector.name);
      return pipeline !== undefined && matchesPipeline(selector, pipeline);
    }
    const isNamed = createNameMatcher(selector);
    return this.#pipelines.some(
      pipeline => this.#pairs.take() && isNamed(pipeline.id) && matchesPipeline(selector, pipeline),
    );
  }
}
