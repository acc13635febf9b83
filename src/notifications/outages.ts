import type { DeliveryRow, IncidentRow, Storage } from '../storage/storage.ts';
import { toldTargets } from './transition.ts';
import type { PipelineWatch, Watch } from './watch.ts';

/** More deliveries of one incident are not looked at: the newest tell enough. */
const MOST_LOOKED_AT = 1000;

/** Notifications on pipelines that are in force, and which targets they told that a pipeline is unreachable. */
export interface Outages {
  /** Looks anew which notifications are in force. */
  configure(): void;
  watches(): readonly PipelineWatch[];
  /** The open incidents on a pipeline that the target was sent, or is being sent; those that wait for it are among them. */
  toldTo(pipeline: string, target: string): readonly IncidentRow[];
  /** Takes what became of a delivery: an alarm that was given up has told its target nothing. */
  settled(row: DeliveryRow, state: DeliveryRow['state']): void;
  /** Looks what became of the alarms of the incidents that are open. */
  start(): Promise<void>;
}

interface OutagesOptions {
  readonly workspace: string;
  readonly storage: Storage;
  /** The notifications in force, by id. */
  readonly all: ReadonlyMap<string, Watch>;
}

export function createOutages({ workspace, storage, all }: OutagesOptions): Outages {
  const { deliveries } = storage.in(workspace);
  let watches: readonly PipelineWatch[] = [];
  /** Targets whose alarm of an open incident was given up, by the incident's id. */
  const missed = new Map<string, ReadonlySet<string>>();

  const open = (): IncidentRow[] =>
    watches.flatMap(({ incidents }) => [...incidents.values()].map(({ row }) => row));

  async function look(incident: string): Promise<void> {
    const { rows } = await deliveries.list({ incident }, { offset: 0, limit: MOST_LOOKED_AT });
    const alarms = rows.filter(({ status }) => status === 'ALARM');
    const reached = new Set(alarms.flatMap(({ state, target }) => (isGivenUp(state) ? [] : [target])));
    missed.set(incident, new Set(alarms.map(({ target }) => target).filter(target => !reached.has(target))));
  }

  return {
    configure() {
      watches = [...all.values()].filter(watch => watch.source === 'pipeline');
    },
    watches: () => watches,
    toldTo: (pipeline, target) =>
      watches.flatMap(({ incidents }) => {
        const row = incidents.get(pipeline)?.row;
        const isTold = row && toldTargets(row).includes(target) && missed.get(row.id)?.has(target) !== true;
        return isTold ? [row] : [];
      }),
    settled({ incident_id: incident, status }, state) {
      if (status !== 'ALARM' || (!isGivenUp(state) && !missed.has(incident))) return;
      const present = new Set(open().map(({ id }) => id));
      for (const id of missed.keys()) if (!present.has(id)) missed.delete(id);
      // When it cannot be read, the target counts as told: what it is not told of inputs it gets later.
      if (present.has(incident)) void look(incident).catch(() => {});
    },
    async start() {
      for (const { id } of open()) await look(id);
    },
  };
}

const isGivenUp = (state: DeliveryRow['state']): boolean =>
  state === 'refused' || state === 'exhausted' || state === 'skipped';
