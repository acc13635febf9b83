import type { Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import type { Logger } from '../../lib/logger.ts';
import { createRepeat, type Repeat } from '../../lib/repeat.ts';
import type { Storage } from '../../storage/storage.ts';

const SAVE_INTERVAL_MS = 10_000;

export interface ObservedTimeOptions {
  readonly workspace: string;
  readonly storage: Pick<Storage, 'instanceValue' | 'transaction'>;
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly observedClock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}

/**
 * How long a workspace has been observed, by whatever process: times on it outlast a restart and a takeover, and what
 * nobody observed lies between no two of them. A process that is killed takes up to 10 seconds of it along.
 */
export class ObservedTime {
  readonly #options: ObservedTimeOptions;
  readonly #faults: CountedLog;
  readonly #saving: Repeat;
  /** The time at the start of this process. */
  #base = 0;
  #startedAt: number;
  /** Something was measured with it since it was saved. */
  #isUsed = false;

  constructor(options: ObservedTimeOptions) {
    this.#options = options;
    this.#startedAt = options.observedClock.monotonic();
    this.#faults = createCountedLog(options.logger, {
      fields: {},
      message: 'how long conditions were observed cannot be written; a restart forgets it',
      over: 'how long conditions were observed can be written again',
    });
    this.#saving = createRepeat({
      clock: options.clock,
      interval: SAVE_INTERVAL_MS,
      work: () => this.#save(),
      faults: this.#faults,
    });
  }

  /** Goes on where the last process stopped, and not before `latest`, which is known to be over. */
  async start(latest: number): Promise<void> {
    const { storage, observedClock } = this.#options;
    const saved = Number((await storage.instanceValue(this.#name)) ?? 0);
    this.#base = Math.max(saved, latest);
    this.#startedAt = observedClock.monotonic();
    this.#saving.start();
  }

  /** In whole milliseconds. What asks depends on it, so it is saved. */
  now(): number {
    this.#isUsed = true;
    return Math.floor(this.#base + this.#options.observedClock.monotonic() - this.#startedAt);
  }

  async stop(): Promise<void> {
    await this.#saving.stop();
    await this.#save().catch((error: unknown) => this.#faults.failed(error));
  }

  get #name(): string {
    return `observed-time:${this.#options.workspace}`;
  }

  async #save(): Promise<void> {
    if (!this.#isUsed) return;
    const now = this.now();
    this.#isUsed = false;
    try {
      await this.#options.storage.transaction(tx => tx.setInstanceValue(this.#name, String(now)));
    } catch (error) {
      this.#isUsed = true;
      throw error;
    }
  }
}
