import { terminalText } from '../../lib/text.ts';

/** Prints the result of a command. Nothing in it reaches the terminal as a control character. */
export function print(text: string): void {
  printStyled(terminalText(text));
}

/** Prints a line of our own with colours, whose values have been through `terminalText`. */
export function printStyled(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Prints a message besides the result, as safely as `print`. */
export function printError(text: string): void {
  printStyledError(terminalText(text));
}

/** As `printStyled`. */
export function printStyledError(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** The reader of our output may end before us, or its disk may be full: neither must end the process. */
export function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

export const EXIT = { ok: 0, failed: 1, usage: 2, invalidConfiguration: 3, planned: 4 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Sets the exit code. */
export type Finish = (code: ExitCode) => void;
