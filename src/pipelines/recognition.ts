import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { STALE_PUSH_MS } from './components/presence.ts';
import type { ComponentState } from './components/state.ts';
import { profileOf } from './engines/index.ts';
import type { PipelineSettings } from './settings.ts';

/**
 * Says that a page or a push may be fine in itself and is not what its engine shows: another engine, a namespace of its
 * own, a version with other names, another format.
 */
export const describeUnrecognised = (count: number, what: string, engine: string): string =>
  `${count} ${what}, none that engine ${engine} is known by; check the pipeline's engine, the namespace of the names, and the engine's version and format`;

/** One push need not hold everything, so that only pushes of such a stretch without anything known show that none comes. */
const FIRST_PUSHES_MS = 60_000;

/** What came in one push. */
export interface PushContent {
  /** How much of it the engine is known by. */
  readonly known: number;
  readonly total: number;
  /** What is counted, as in `lines`. */
  readonly unit: string;
}

interface Options {
  readonly settings: PipelineSettings;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  /** For how long, in ms, no push named any of its inputs and outputs; undefined where it has none. */
  readonly unnamedMs: () => number | undefined;
}

/** Notices when a pipeline pushes nothing that its engine is known by. */
export class PushRecognition {
  readonly #options: Options;
  readonly #knownBy: RegExp | undefined;
  /** Monotonic ms of the last push. */
  #pushedAt = Number.NEGATIVE_INFINITY;
  /** Monotonic ms since when pushes hold nothing known; undefined while they do. */
  #since: number | undefined;
  #notice: string | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#knownBy = profileOf(options.settings).knownBy;
  }

  /** What the pushes hold and what to check; undefined while something known comes. */
  get notice(): string | undefined {
    return this.#notice;
  }

  /** True for a name by which the engine is known, whether or not it belongs to an input or output. */
  knows(name: string): boolean {
    return this.#knownBy?.test(name) === true;
  }

  /** Why a component that no replica has may still be pushed; undefined when pushes go on without it. */
  whyUnread({ lastSeenAt }: Pick<ComponentState, 'lastSeenAt'>): string | undefined {
    const now = this.#options.clock.monotonic();
    if (now - this.#pushedAt >= STALE_PUSH_MS) return 'nothing was pushed for a while';
    return now - lastSeenAt < STALE_PUSH_MS ? 'no push has named it yet' : undefined;
  }

  /** Takes note of a push, at a time in monotonic ms; false when the pipeline counts as one that pushes nothing. */
  note({ known, total, unit }: PushContent, at: number): boolean {
    const { settings, logger } = this.#options;
    this.#pushedAt = at;
    if (known > 0 || total === 0) {
      if (known > 0) this.#recognised();
      return this.#notice === undefined;
    }
    if (!this.#isOver()) return true;
    const isNew = this.#notice === undefined;
    this.#notice = describeUnrecognised(total, unit, settings.engine);
    if (isNew) logger.warn({ reason: this.#notice }, 'Nothing that the pipeline pushes is known');
    return false;
  }

  #recognised(): void {
    this.#since = undefined;
    if (this.#notice !== undefined) this.#options.logger.info({}, 'What the pipeline pushes is known again');
    this.#notice = undefined;
  }

  #isOver(): boolean {
    const now = this.#options.clock.monotonic();
    this.#since ??= now;
    if (now - this.#since < FIRST_PUSHES_MS) return false;
    const unnamedMs = this.#options.unnamedMs();
    return unnamedMs === undefined || unnamedMs >= STALE_PUSH_MS;
  }
}
