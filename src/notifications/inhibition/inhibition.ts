import type { ResultBus } from '../../delivery/results.ts';
import type { Storage } from '../../storage/storage.ts';
import type { DeliveryRow } from '../../storage/stores/deliveries.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import { notifiedTargets, type RuleState } from '../rule-state.ts';

/** More deliveries of one incident are not read: the newest say enough. */
const MAX_READ = 1000;

/** Alarms that come of a pipeline which cannot be read are inhibited for a target that was notified of that. */
export interface Inhibition {
  readonly pipeline: string;
  readonly target: string;
}

/** Whether the alarm of an incident still waits for a target, and nothing was sent before: then it inhibits nothing yet. */
type IsUnsent = (incident: string, target: string) => boolean;

/** Which open incidents on pipelines inhibit alarms of their inputs, and for which targets. */
export interface Inhibitions {
  /** The incidents that inhibit an alarm of the pipeline, by target; of these deliveries' targets. */
  inhibitorsFor(
    pipeline: string | undefined,
    deliveries: readonly DeliveryRow[],
    isUnsent: IsUnsent,
  ): ReadonlyMap<string, IncidentRow>;
  /** Whether an open incident still inhibits. */
  isActive(inhibition: Inhibition, isUnsent: IsUnsent): boolean;
}

export interface InhibitingIncidentsOptions {
  readonly workspace: string;
  readonly storage: Storage;
  /** Reports settled deliveries. Left out, nothing does. */
  readonly results?: Pick<ResultBus, 'subscribe'> | undefined;
}

/** The open incidents of active rules on pipelines, and which of them a target was not notified of in the end. */
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

  /** Takes over which rules inhibit. */
  configure(rules: readonly Pick<RuleState, 'incidents'>[]): void {
    this.#rules = rules;
  }

  /** Looks what became of the alarms of the incidents that are open. */
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

  /** An alarm that was given up has notified its target of nothing. */
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
