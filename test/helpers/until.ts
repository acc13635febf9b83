const LOOK_MS = 20;
/** Far more than anything takes: a busy machine is slow, and only what never comes about is a failure. */
const BOUND_MS = 300_000;

/** Waits until `check` holds, for what processes, disks and sockets decide. Fails when it does not within the bound. */
export async function until(
  check: () => boolean | Promise<boolean>,
  what = 'the condition',
  boundMs = BOUND_MS,
): Promise<void> {
  const end = performance.now() + boundMs;
  for (let waitMs = 1; !(await check()); waitMs = Math.min(2 * waitMs, LOOK_MS)) {
    if (performance.now() > end) throw new Error(`${what} did not come about within ${boundMs} ms`);
    await new Promise(resolve => setTimeout(resolve, waitMs));
  }
}
