import { type AddressGuard, type AddressPolicy, createAddressGuard } from '../lib/address-guard.ts';
import type { Notification } from '../notifications/notification.ts';
import type { PipelineSettings } from '../pipelines/settings.ts';
import type { Target } from '../targets/target.ts';
import { checkWindow, crossCheck, withStandIns, withWays } from './cross-checks.ts';
import type { ConfigDocument } from './document.ts';
import type { Finding } from './finding.ts';
import type { Origin } from './issues.ts';
import { type Item, readItems } from './items.ts';
import { forbiddenAddresses } from './literal-addresses.ts';
import { originIn } from './origin.ts';
import { unknownPipeline } from './pipeline-names.ts';
import type { ConfigProblem } from './problems.ts';
import { readNotification, readTarget } from './read-notifications.ts';
import { filesRefused, type PullInterval, pullIntervals, type SettingsReading } from './read-settings.ts';
import type { ReferenceSources } from './secrets.ts';
import { unknownSections } from './sections.ts';
import { type TargetGraph, targetGraph } from './target-graph.ts';
import { operationalProblem } from './target-references.ts';
import { filePaths, overQuota } from './tenant-terms.ts';

interface NotificationsReading {
  readonly targets: readonly Target[];
  readonly notifications: readonly Notification[];
  /** What each target was made of. */
  readonly resolvedTargets: readonly unknown[];
  readonly targetItems: readonly Item[];
  readonly notificationItems: readonly Item[];
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
  /** Files that settings refer to. */
  readonly files: readonly string[];
}

/** What of headgate.yml the items are held against. */
type Around = Pick<SettingsReading, 'pipelines' | 'settings' | 'origin'>;

const SECTIONS = ['targets', 'notifications'];
/** While the settings are unreadable only what is never allowed can be told. */
const ANY_ADDRESS: AddressPolicy = { privateAddresses: 'allow', allowedAddresses: [] };

/** Reads notifications.yml: each item by itself, then all of them together. */
export function readNotifications(
  document: ConfigDocument,
  sources: ReferenceSources,
  around: Around,
): NotificationsReading {
  const { pipelines, settings } = around;
  const targets = readItems(document, 'targets');
  const notifications = readItems(document, 'notifications');
  const graph = targetGraph(targets.items);
  const origin = originIn({ ...document, base: [] });
  const placed = ({ path, message }: Finding): ConfigProblem => ({ ...origin.place(path), message });
  const overQuotaOf = (what: 'targets' | 'notifications', count: number): ConfigProblem[] => {
    const message = overQuota(sources.tenant, what, count);
    return message === undefined ? [] : [{ ...origin.place([what]), message }];
  };
  // While the list of targets is unreadable nothing can be said of what they are.
  const crossed = targets.readable
    ? crossCheck({ targets: targets.items, notifications: notifications.items, graph })
    : { problems: [], warnings: [] };
  const guard = createAddressGuard(settings?.delivery ?? ANY_ADDRESS);
  const readTargets = targets.items.map(item => targetIn(document, item, sources, guard));
  const intervals = pullIntervals(pipelines);
  const readNotices = notifications.items.map(item =>
    notificationIn(document, item, graph, { intervals, pipelines: settings && pipelines, origin }),
  );
  const readings = [...readTargets, ...readNotices];
  return {
    targets: readTargets.flatMap(({ target }) => (target === undefined ? [] : [withWays(target, graph)])),
    notifications: readNotices.flatMap(({ notification }) => notification ?? []),
    resolvedTargets: readTargets.flatMap(({ target, resolved }) => (target === undefined ? [] : [resolved])),
    targetItems: targets.items,
    notificationItems: notifications.items,
    problems: [
      ...document.problems,
      ...unknownSections(document, SECTIONS),
      ...targets.problems,
      ...notifications.problems,
      ...overQuotaOf('targets', targets.items.length),
      ...overQuotaOf('notifications', notifications.items.length),
      ...crossed.problems.map(placed),
      ...(targets.readable ? operationalProblems(around, graph) : []),
      ...readings.flatMap(({ problems }) => problems),
    ],
    warnings: [...crossed.warnings.map(placed), ...readings.flatMap(({ warnings }) => warnings)],
    files: readTargets.flatMap(({ files }) => files),
  };
}

function operationalProblems({ settings, origin }: Around, graph: TargetGraph): ConfigProblem[] {
  const id = settings?.delivery.operationalTarget;
  const message = id === undefined ? undefined : operationalProblem(id, graph);
  return message === undefined ? [] : [{ ...origin.place(['delivery', 'operationalTarget']), message }];
}

function targetIn(document: ConfigDocument, item: Item, sources: ReferenceSources, guard: AddressGuard) {
  const reading = readTarget(document, item, sources);
  if (reading.target === undefined) return reading;
  const origin = originIn({ ...document, base: item.path });
  const { place } = origin;
  const forbidden = forbiddenAddresses(reading.target.settings, item.value, guard);
  const warnings = forbidden.map(({ path, message }) => ({ ...place(path), message }));
  const files = sources.tenant === undefined ? [] : filePaths(item.value);
  return {
    ...reading,
    problems: [...reading.problems, ...files.map(path => filesRefused(origin, path))],
    warnings: [...reading.warnings, ...warnings],
  };
}

interface Read {
  readonly intervals: readonly PullInterval[];
  /** Undefined while not all of them can be read. */
  readonly pipelines: readonly PipelineSettings[] | undefined;
  readonly origin: Origin;
}

function notificationIn(
  document: ConfigDocument,
  item: Item,
  graph: TargetGraph,
  { intervals, pipelines, origin }: Read,
) {
  const { notification, problems } = readNotification(document, item);
  if (notification === undefined) return { notification, problems, warnings: [] };
  const window = checkWindow(notification, item, intervals, origin);
  return {
    notification: withStandIns(notification, graph),
    problems: [...problems, ...window.problems],
    warnings: [
      ...window.warnings,
      ...(pipelines === undefined ? [] : unknownPipeline(notification, item, pipelines, origin)),
    ],
  };
}
