import type { Storage } from '../../storage/storage.ts';
import type { AcknowledgementRow } from '../../storage/stores/acknowledgements.ts';

/** Knows which open incidents somebody looks after. */
export interface Acknowledgements {
  isAcknowledged(incident: string): boolean;
  /** When the acknowledgement of an incident was taken back, in epoch ms; undefined where none was. */
  takenBackAt(incident: string): number | undefined;
}

export interface StoredAcknowledgementsOptions {
  readonly workspace: string;
  readonly storage: Storage;
}

/** The acknowledgements of the store, as far as they are of open incidents. Only the process that holds this changes them. */
export class StoredAcknowledgements implements Acknowledgements {
  readonly #store: ReturnType<Storage['in']>['acknowledgements'];
  readonly #byIncident = new Map<string, AcknowledgementRow>();

  constructor({ workspace, storage }: StoredAcknowledgementsOptions) {
    this.#store = storage.in(workspace).acknowledgements;
  }

  async start(): Promise<void> {
    for (const row of await this.#store.ofOpen()) this.#byIncident.set(row.incident, row);
  }

  /** Reads what has changed of one incident. */
  async refresh(incident: string): Promise<void> {
    for (const row of await this.#store.ofOpen(incident)) this.#byIncident.set(incident, row);
  }

  isAcknowledged(incident: string): boolean {
    return this.#byIncident.get(incident)?.acknowledged === 1;
  }

  takenBackAt(incident: string): number | undefined {
    const row = this.#byIncident.get(incident);
    return row?.acknowledged === 0 ? row.changed_at : undefined;
  }

  /** Called once its end is on disk. */
  incidentClosed(incident: string): void {
    this.#byIncident.delete(incident);
  }
}
