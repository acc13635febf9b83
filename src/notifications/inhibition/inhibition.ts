import type { Storage } from '../../storage/storage.ts';
import type { DeliveryRow } from '../../storage/stores/deliveries.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { ActivePipelineRule, ActiveRule } from '../active-rule.ts';
import type { Notification } from '../notification.ts';
import { notifiedTargets } from '../transition.ts';

/** For how long after an outage what is about to end may be waited for. */
export const MAX_RESOLVING_MS = 600_000;

/** Alarms that come of a pipeline which cannot be read, for a target that was told of that. */
export interface Inhibition {
  readonly pipeline: string;
  readonly target: string;
}

export interface Inhibitions {
  /** The incidents for whose sake deliveries of an alarm are held back, by target. */
  inhibitorsFor(
    rule: Rule,
    pipeline: string | undefined,
    deliveries: readonly DeliveryRow[],
  ): ReadonlyMap<string, IncidentRow>;
  /** Whether the target of a hold is still told of the pipeline. */
  isActive(inhibition: Inhibition): boolean;
}

type Rule = Notification['rule'] | undefined;

/** How long an alarm may come of an outage that is over, in milliseconds; undefined when it never does. */
export const inhibitionGraceMsOf = (rule: Rule): number | undefined =>
  rule?.source === 'component' ? rule.inhibitionGraceMs : undefined;

export function createInhibitions(
  inhibitors: InhibitingIncidents['notifiedTo'],
  /** Whether what a target is to be told of an incident still waits, and nothing was sent before. */
  isWaiting: (incident: string, target: string) => boolean,
): Inhibitions {
  const inhibitorFor = (pipeline: string, target: string): IncidentRow | undefined =>
    inhibitors(pipeline, target).find(({ id }) => !isWaiting(id, target));

  return {
    inhibitorsFor(rule, pipeline, deliveries) {
      const byTarget = new Map<string, IncidentRow>();
      if (pipeline === undefined || inhibitionGraceMsOf(rule) === undefined) return byTarget;
      for (const { target } of deliveries) {
        const inhibitor = inhibitorFor(pipeline, target);
        if (inhibitor !== undefined) byTarget.set(target, inhibitor);
      }
      return byTarget;
    },
    isActive: ({ pipeline, target }) => inhibitorFor(pipeline, target) !== undefined,
  };
}

/** More deliveries of one incident are not looked at: the newest tell enough. */
const MAX_READ = 1000;

/** Notifications on pipelines that are in force, and which targets they told that a pipeline is unreachable. */
export interface InhibitingIncidents {
  /** Looks anew which notifications are in force. */
  configure(): void;
  rules(): readonly ActivePipelineRule[];
  /** The open incidents on a pipeline that the target was sent, or is being sent; those that wait for it are among them. */
  notifiedTo(pipeline: string, target: string): readonly IncidentRow[];
  /** Takes what became of a delivery: an alarm that was given up has told its target nothing. */
  settled(row: DeliveryRow, state: DeliveryRow['state']): void;
  /** Looks what became of the alarms of the incidents that are open. */
  start(): Promise<void>;
}

interface InhibitingIncidentsOptions {
  readonly workspace: string;
  readonly storage: Storage;
  /** The notifications in force, by id. */
  readonly activeRules: ReadonlyMap<string, ActiveRule>;
}

export function createInhibitingIncidents({
  workspace,
  storage,
  activeRules: all,
}: InhibitingIncidentsOptions): InhibitingIncidents {
  const { deliveries } = storage.in(workspace);
  let rules: readonly ActivePipelineRule[] = [];
  /** Targets whose alarm of an open incident was given up, by the incident's id. */
  const undelivered = new Map<string, ReadonlySet<string>>();

  const open = (): IncidentRow[] =>
    rules.flatMap(({ incidents }) => [...incidents.values()].map(({ row }) => row));

  async function refresh(incident: string): Promise<void> {
    const { rows } = await deliveries.list({ incident }, { offset: 0, limit: MAX_READ });
    const alarms = rows.filter(({ status }) => status === 'ALARM');
    const notified = new Set(alarms.flatMap(({ state, target }) => (isUndelivered(state) ? [] : [target])));
    undelivered.set(
      incident,
      new Set(alarms.map(({ target }) => target).filter(target => !notified.has(target))),
    );
  }

  return {
    configure() {
      rules = [...all.values()].filter(active => active.source === 'pipeline');
    },
    rules: () => rules,
    notifiedTo: (pipeline, target) =>
      rules.flatMap(({ incidents }) => {
        const row = incidents.get(pipeline)?.row;
        const isNotified =
          row && notifiedTargets(row).includes(target) && undelivered.get(row.id)?.has(target) !== true;
        return isNotified ? [row] : [];
      }),
    settled({ incident_id: incident, status }, state) {
      if (status !== 'ALARM' || (!isUndelivered(state) && !undelivered.has(incident))) return;
      const present = new Set(open().map(({ id }) => id));
      for (const id of undelivered.keys()) if (!present.has(id)) undelivered.delete(id);
      // When it cannot be read, the target counts as told: what it is not told of inputs it gets later.
      if (present.has(incident)) void refresh(incident).catch(() => {});
    },
    async start() {
      for (const { id } of open()) await refresh(id);
    },
  };
}

const isUndelivered = (state: DeliveryRow['state']): boolean =>
  state === 'refused' || state === 'exhausted' || state === 'skipped';
