/** What a command answers. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** What a command says about itself, apart from its answer. */
export function complain(text: string): void {
  process.stderr.write(`${text}\n`);
}
