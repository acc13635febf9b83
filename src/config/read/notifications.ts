import { type AddressGuard, type AddressPolicy, createAddressGuard } from '../../lib/http/guard.ts';
import type { Notification } from '../../notifications/notification.ts';
import type { Target } from '../../targets/target.ts';
import { forbiddenAddresses } from '../check/addresses.ts';
import { crossCheck, PipelineChecks, withDefaultTarget, withResolvedTargets } from '../check/cross-checks.ts';
import { PairLimit } from '../check/pair-limit.ts';
import { type TargetGraph, targetGraph } from '../check/target-graph.ts';
import { operationalProblem } from '../check/target-references.ts';
import { type Finding, FindingList, finding, findingList, type ItemFinding } from '../problems.ts';
import { countLogFolders, overQuota } from '../restrictions.ts';
import { fileOrigin, type ValueOrigin } from '../schema-problems.ts';
import type { ReferenceSources } from '../secrets/references.ts';
import { type ConfigDocument, type ConfigItem, readItems, unknownSections } from '../yaml/document.ts';
import {
  type InhibitionsReading,
  type ResolvedTarget,
  readInhibitions,
  readNotification,
  readTarget,
  type TargetReading,
} from './items.ts';
import type { SettingsReading } from './settings.ts';

interface NotificationsReading {
  readonly targets: readonly Target[];
  readonly notifications: readonly Notification[];
  readonly inhibitions: InhibitionsReading['inhibitions'];
  /** The items of the targets, references resolved. */
  readonly resolvedTargets: readonly ResolvedTarget[];
  readonly targetItems: readonly ConfigItem[];
  readonly notificationItems: readonly ConfigItem[];
  readonly inhibitionItems: readonly ConfigItem[];
  readonly problems: FindingList;
  readonly warnings: FindingList;
  /** Warnings of what is not used although it stands there. */
  readonly refusals: FindingList;
  /** Files that settings refer to. */
  readonly files: readonly string[];
}

/** The parts of headgate.yml that items are checked with. */
type SettingsContext = Pick<SettingsReading, 'pipelines' | 'settings' | 'origin'>;

const SECTIONS = ['targets', 'notifications', 'inhibitions'];
/** While the settings are unreadable only addresses that are never allowed are reported. */
const ANY_ADDRESS: AddressPolicy = { privateAddresses: 'allow', allowedAddresses: [] };

/** Reads notifications.yml: each item by itself, then all of them together. */
export function readNotifications(
  document: ConfigDocument,
  sources: ReferenceSources,
  context: SettingsContext,
): NotificationsReading {
  const { pipelines, settings } = context;
  const targets = readItems(document, 'targets');
  const notifications = readItems(document, 'notifications');
  const inhibitions = readInhibitions(document);
  const graph = targetGraph(targets.items);
  const origin = fileOrigin({ ...document, base: [] });
  const placed = ({ path, message }: ItemFinding): Finding => finding(() => origin.place(path), message);
  const overQuotaOf = (
    what: 'targets' | 'notifications' | 'inhibitions' | 'logFolders',
    count: number,
    section: string = what,
  ): Finding[] => {
    const message = overQuota(sources.restrictions, what, count);
    return message === undefined ? [] : [finding(() => origin.place([section]), message)];
  };
  const pairs = new PairLimit();
  // While the list of targets is unreadable nothing can be said of what they are.
  const crossed = targets.readable
    ? crossCheck({
        targets: targets.items,
        notifications: notifications.items,
        inhibitions: inhibitions.items,
        graph,
        pairs,
      })
    : { problems: [], warnings: [] };
  const guard = createAddressGuard(sources.restrictions?.delivery ?? settings?.delivery ?? ANY_ADDRESS);
  const checks = new PipelineChecks(pipelines, pairs);
  const read = new ItemsReading();
  for (const item of targets.items)
    if (!read.problems.isFull) read.addTarget(targetIn(document, item, sources, guard));
  const notices: Notification[] = [];
  for (const item of notifications.items) {
    if (read.problems.isFull) break;
    const reading = notificationIn(document, item, graph, {
      checks,
      areAllKnown: settings !== undefined,
      origin,
    });
    if (reading.notification !== undefined) notices.push(reading.notification);
    read.add(reading);
  }
  const problems = findingList(
    document.problems,
    unknownSections(document, SECTIONS),
    targets.problems,
    notifications.problems,
    inhibitions.problems,
    overQuotaOf('inhibitions', inhibitions.items.length),
    overQuotaOf('targets', targets.items.length),
    overQuotaOf('notifications', notifications.items.length),
    overQuotaOf('logFolders', countLogFolders(read.targets), 'targets'),
    crossed.problems.map(placed),
    targets.readable ? operationalProblems(context, graph) : [],
    read.problems,
    pairs.problem === undefined ? [] : [placed({ path: ['notifications'], message: pairs.problem })],
  );
  return {
    targets: read.targets.map(target => withResolvedTargets(target, graph)),
    notifications: notices,
    inhibitions: inhibitions.inhibitions,
    resolvedTargets: read.resolved,
    targetItems: targets.items,
    notificationItems: notifications.items,
    inhibitionItems: inhibitions.items,
    problems,
    warnings: findingList(crossed.warnings.map(placed), read.warnings),
    refusals: read.refusals,
    files: read.files,
  };
}

/** What the items come to: of what is wrong with them no more than is shown. */
class ItemsReading {
  readonly targets: Target[] = [];
  readonly resolved: ResolvedTarget[] = [];
  readonly problems = new FindingList();
  readonly warnings = new FindingList();
  readonly refusals = new FindingList();
  readonly files: string[] = [];

  add({ problems, warnings }: Pick<TargetReading, 'problems' | 'warnings'>): void {
    this.problems.addAll(problems);
    this.warnings.addAll(warnings);
  }

  addTarget(reading: TargetReading): void {
    const { target, resolved, refusals, files } = reading;
    if (target !== undefined) {
      this.targets.push(target);
      if (resolved !== undefined) this.resolved.push(resolved);
    }
    this.add(reading);
    this.refusals.addAll(refusals);
    this.files.push(...files);
  }
}

function operationalProblems({ settings, origin }: SettingsContext, graph: TargetGraph): Finding[] {
  const id = settings?.delivery.operationalTarget;
  const message = id === undefined ? undefined : operationalProblem(id, graph);
  return message === undefined
    ? []
    : [finding(() => origin.place(['delivery', 'operationalTarget']), message)];
}

function targetIn(
  document: ConfigDocument,
  item: ConfigItem,
  sources: ReferenceSources,
  guard: AddressGuard,
): TargetReading {
  const reading = readTarget(document, item, sources);
  if (reading.target === undefined) return reading;
  const { place } = fileOrigin({ ...document, base: item.path });
  const forbidden = forbiddenAddresses(reading.target.settings, item.value, guard);
  const refusals = forbidden.map(({ path, message }) => finding(() => place(path), message));
  return { ...reading, refusals: [...reading.refusals, ...refusals] };
}

interface NotificationContext {
  readonly checks: PipelineChecks;
  /** False while not all pipelines can be read. */
  readonly areAllKnown: boolean;
  readonly origin: ValueOrigin;
}

function notificationIn(
  document: ConfigDocument,
  item: ConfigItem,
  graph: TargetGraph,
  { checks, areAllKnown, origin }: NotificationContext,
) {
  const { notification, problems } = readNotification(document, item);
  if (notification === undefined) return { notification, problems, warnings: [] };
  const window = checks.window(notification, item, origin);
  return {
    notification: withDefaultTarget(notification, graph),
    problems: [...problems, ...window.problems],
    warnings: [...window.warnings, ...(areAllKnown ? checks.unknown(notification, item, origin) : [])],
  };
}
