/** What a command answers. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** What a command says about itself, apart from its answer. */
export function complain(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Whoever reads our output may end before us, and the disk behind it may be full: neither must end the process. */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}
