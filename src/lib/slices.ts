/** Work in slices of some milliseconds: it yields where other work of the process may go on. */
export type Slices<Result = void> = Generator<undefined, Result, undefined>;

/** Does the work. What fits in one slice is done at once; further slices follow one in each turn of the event loop. */
export function inSlices<Result>(work: Slices<Result>): Result | Promise<Result> {
  const first = work.next();
  return first.done === true ? first.value : goOn(work);
}

async function goOn<Result>(work: Slices<Result>): Promise<Result> {
  for (;;) {
    await new Promise(resolve => setImmediate(resolve));
    const next = work.next();
    if (next.done === true) return next.value;
  }
}

/** Does the work without a pause, where nothing else waits for the process. */
export function atOnce<Result>(work: Slices<Result>): Result {
  for (;;) {
    const next = work.next();
    if (next.done === true) return next.value;
  }
}
