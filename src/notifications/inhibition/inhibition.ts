import type { ResultBus } from '../../delivery/results.ts';
import type { Storage } from '../../storage/storage.ts';
import type { DeliveryRow } from '../../storage/stores/deliveries.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import { notifiedTargets, type RuleState } from '../rule-state.ts';

/** Limit on the deliveries that are read of one incident: the newest are enough. */
const MAX_READ = 1000;

/** Alarms that result from a pipeline being unreachable are inhibited for a target that was notified of that. */
export interface Inhibition {
  readonly pipeline: string;
  readonly target: string;
}

/** True while the first alarm of an incident still waits for a target: then it inhibits nothing yet. */
type IsUnsent = (incident: string, target: string) => boolean;

/** Finds the open incidents on pipelines that inhibit alarms of their inputs, and for which targets. */
export interface Inhibitions {
  /** The incidents that inhibit an alarm of the pipeline, by target, among the targets of these deliveries. */
  inhibitorsFor(
    pipeline: string | undefined,
    deliveries: readonly DeliveryRow[],
    isUnsent: IsUnsent,
  ): ReadonlyMap<string, IncidentRow>;
  /** True while an open incident still inhibits. */
  isActive(inhibition: Inhibition, isUnsent: IsUnsent): boolean;
}

export interface InhibitingIncidentsOptions {
  readonly workspace: string;
  readonly storage: Storage;
  /** Reports settled deliveries. By default there are none. */
  readonly results?: Pick<ResultBus, 'subscribe'> | undefined;
}

/** Keeps the open incidents of active rules on pipelines, and the targets that never got their alarms. */
export class InhibitingIncidents implements Inhibitions {
  readonly #deliveries: ReturnType<Storage['in']>['deliveries'];
  #rules: readonly Pick<RuleState, 'incidents'>[] = [];
  /** Targets that never got the alarm of an open incident, by the incident's id. */
  readonly #undelivered = new Map<string, ReadonlySet<string>>();

  constructor({ results, storage, workspace }: InhibitingIncidentsOptions) {
    this.#deliveries = storage.in(workspace).deliveries;
    results?.subscribe(result => {
      if (result.kind === 'settled') this.#settled(result.row, result.operation.state);
    });
  }

  configure(rules: readonly Pick<RuleState, 'incidents'>[]): void {
    this.#rules = rules;
  }

  /** Reads the results of the alarms of open incidents. */
  async start(): Promise<void> {
    for (const { id } of this.#open()) await this.#refresh(id);
  }

  inhibitorsFor(
    pipeline: string | undefined,
    deliveries: readonly DeliveryRow[],
    isUnsent: IsUnsent,
  ): ReadonlyMap<string, IncidentRow> {
    const byTarget = new Map<string, IncidentRow>();
    if (pipeline === undefined) return byTarget;
    for (const { target } of deliveries) {
      const inhibitor = this.#inhibitorFor({ pipeline, target }, isUnsent);
      if (inhibitor !== undefined) byTarget.set(target, inhibitor);
    }
    return byTarget;
  }

  isActive(inhibition: Inhibition, isUnsent: IsUnsent): boolean {
    return this.#inhibitorFor(inhibition, isUnsent) !== undefined;
  }

  /** Records that an alarm was given up: its target was not notified. */
  #settled({ incident_id: incident, status }: DeliveryRow, state: DeliveryRow['state']): void {
    if (status !== 'ALARM' || (!isUndelivered(state) && !this.#undelivered.has(incident))) return;
    const open = new Set(this.#open().map(({ id }) => id));
    for (const id of this.#undelivered.keys()) if (!open.has(id)) this.#undelivered.delete(id);
    // When it cannot be read, the target counts as notified: what is inhibited is sent later.
    if (open.has(incident)) void this.#refresh(incident).catch(() => {});
  }

  #inhibitorFor({ pipeline, target }: Inhibition, isUnsent: IsUnsent): IncidentRow | undefined {
    for (const { incidents } of this.#rules) {
      const row = incidents.get(pipeline)?.row;
      if (row === undefined || !notifiedTargets(row).includes(target)) continue;
      if (this.#undelivered.get(row.id)?.has(target) !== true && !isUnsent(row.id, target)) return row;
    }
    return undefined;
  }

  #open(): IncidentRow[] {
    return this.#rules.flatMap(({ incidents }) => [...incidents.values()].map(({ row }) => row));
  }

  async #refresh(incident: string): Promise<void> {
    const { rows } = await this.#deliveries.list({ incident }, { offset: 0, limit: MAX_READ });
    const alarms = rows.filter(({ status }) => status === 'ALARM');
    const reached = new Set(alarms.flatMap(({ state, target }) => (isUndelivered(state) ? [] : [target])));
    const others = alarms.map(({ target }) => target).filter(target => !reached.has(target));
    this.#undelivered.set(incident, new Set(others));
  }
}

const isUndelivered = (state: DeliveryRow['state']): boolean =>
  state === 'refused' || state === 'exhausted' || state === 'skipped';
