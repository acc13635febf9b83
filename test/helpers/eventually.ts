/** Waits until `check` holds, for what real disks and sockets decide. Fails after ten seconds. */
export async function eventually(
  check: () => boolean | Promise<boolean>,
  what = 'the condition',
): Promise<void> {
  const end = performance.now() + 10_000;
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`${what} did not come about`);
    await new Promise(resolve => setImmediate(resolve));
  }
}
