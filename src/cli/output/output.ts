/** Prints the result of a command. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints a message besides the result. */
export function printError(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** The reader of our output may end before us, or its disk may be full: neither must end the process. */
export function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

export const EXIT = { ok: 0, failed: 1, usage: 2, invalidConfiguration: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Sets the exit code. */
export type Finish = (code: ExitCode) => void;
