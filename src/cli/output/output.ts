/** What a command answers. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** What a command says about itself, apart from its answer. */
export function printError(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Whoever reads our output may end before us, and the disk behind it may be full: neither must end the process. */
export function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

export const EXIT = { ok: 0, failed: 1, usage: 2, invalidConfiguration: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** How a command says what the process ends with. */
export type Finish = (code: ExitCode) => void;
