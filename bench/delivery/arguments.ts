/** Ends the process as a command that was called wrongly does. */
export function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}

/** What stands behind `--name`: a whole number within the bounds, both included. */
export function wholeNumber(name: string, text: string, [least, most]: readonly [number, number]): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  return refuse(`--${name} must be a whole number from ${least} to ${most}, not '${text}'`);
}
