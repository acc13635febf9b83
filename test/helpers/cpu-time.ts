/** The processor time (ms) that this process spends while `work` runs: a busy machine leaves it as it is. */
export async function cpuMsOf(work: () => unknown): Promise<number> {
  const began = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}
