import type { Clock } from './clock.ts';

/**
 * Work in slices of some milliseconds: it yields where other work of the process may go on, and with a number how many
 * slices of other work that comes later may go first.
 */
export type Slices<Result = void> = Generator<number | undefined, Result, undefined>;

/** Does the work. What fits in one slice is done at once; further slices follow one in each turn of the event loop. */
export function inSlices<Result>(work: Slices<Result>): Result | Promise<Result> {
  const first = work.next();
  return first.done === true ? first.value : goOn(work, first.value);
}

async function goOn<Result>(work: Slices<Result>, behind: number | undefined): Promise<Result> {
  for (let after = behind; ; ) {
    await nextTurn(after);
    const next = work.next();
    if (next.done === true) return next.value;
    after = next.value;
  }
}

interface Waiting {
  /** The number of the slice that is its turn at the latest, were there no other work with the same one. */
  readonly turn: number;
  readonly begin: () => void;
}

/** Work that waits for its next slice, in the order of its turns. */
const waiting: Waiting[] = [];
let slicesDone = 0;

/**
 * Resolves in a turn of the event loop that no other work has for a slice, however much of it there is. So many slices
 * of work that comes later go before it, and no more: nothing waits for ever.
 */
const nextTurn = (behind = 0): Promise<void> =>
  new Promise(resolve => {
    const turn = slicesDone + behind;
    const before = waiting.findLastIndex(other => other.turn <= turn);
    waiting.splice(before + 1, 0, { turn, begin: resolve });
    if (waiting.length === 1) setImmediate(runNext);
  });

function runNext(): void {
  slicesDone++;
  waiting.shift()?.begin();
  if (waiting.length > 0) setImmediate(runNext);
}

const SLICE_MS = 10;

/** Ends slices by the clock, for work of which a step may cost anything. */
export class SliceTimer {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #end: number;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#end = clock.monotonic() + SLICE_MS;
  }

  isPauseDue(): boolean {
    return this.#clock.monotonic() >= this.#end;
  }

  *pause(): Slices {
    yield;
    this.#end = this.#clock.monotonic() + SLICE_MS;
  }
}

/** Does the work without a pause, where nothing else waits for the process. */
export function atOnce<Result>(work: Slices<Result>): Result {
  for (;;) {
    const next = work.next();
    if (next.done === true) return next.value;
  }
}
