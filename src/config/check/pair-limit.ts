/** Pairs of what is checked against each other: ten thousand notifications with two hundred targets or pipelines each. */
const MOST_PAIRS = 2_000_000;

/**
 * Counts what one check looks up pair by pair: targets that a notification may reach, pipelines that its pattern fits. All
 * else takes time that grows with the text; these could grow with its square.
 */
export class PairLimit {
  #left: number;

  constructor(most = MOST_PAIRS) {
    this.#left = most;
  }

  /** False when there were too many pairs before: then no more may be looked at, and the configuration is refused. */
  take(): boolean {
    this.#left--;
    return this.#left >= 0;
  }

  /** What to say when there were too many; undefined while there were not. */
  get problem(): string | undefined {
    return this.#left >= 0
      ? undefined
      : `notifications lead to too many pairs of targets or pipelines: at most ${MOST_PAIRS} are checked; use fewer routes or patterns`;
  }
}
