const LOOK_MS = 20;

/** Waits until `check` holds, for what processes, disks and sockets decide. Fails when it does not within the bound. */
export async function until(
  check: () => boolean | Promise<boolean>,
  what: string,
  boundMs = 20_000,
): Promise<void> {
  const end = performance.now() + boundMs;
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`${what} did not come about within ${boundMs} ms`);
    await new Promise(resolve => setTimeout(resolve, LOOK_MS));
  }
}
