/** Between two looks: a part of what has passed, so that a long wait takes few of them, each of which costs as much. */
const LOOK_PART = 1 / 8;
const LONGEST_LOOK_MS = 100;
/** Far more than anything takes: a busy machine is slow, and only what never comes about is a failure. */
const BOUND_MS = 300_000;

/** Waits until `check` holds, for what processes, disks and sockets decide. Fails when it does not within the bound. */
export async function until(
  check: () => boolean | Promise<boolean>,
  what = 'the condition',
  boundMs = BOUND_MS,
): Promise<void> {
  const begin = performance.now();
  while (!(await check())) {
    const passedMs = performance.now() - begin;
    if (passedMs > boundMs) throw new Error(`${what} did not come about within ${boundMs} ms`);
    const waitMs = Math.min(LONGEST_LOOK_MS, Math.max(1, passedMs * LOOK_PART));
    await new Promise(resolve => setTimeout(resolve, waitMs));
  }
}
