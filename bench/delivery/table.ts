/** Prints lines of equal columns, the first to the left, the others to the right. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map(row => row[column]?.length ?? 0)),
  );
  for (const line of [head, ...rows])
    console.log(
      line
        .map((text, column) => {
          const width = widths[column] ?? 0;
          return column === 0 ? text.padEnd(width) : text.padStart(width);
        })
        .join('  '),
    );
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** The value that the given share of all does not exceed; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The median, and behind it the least and the most where they differ. */
export function spread(values: readonly number[], digits = 0): string {
  const texts = [median(values), Math.min(...values), Math.max(...values)].map(value =>
    value.toFixed(digits),
  );
  return new Set(texts).size === 1 ? `${texts[0]}` : `${texts[0]} (${texts[1]}-${texts[2]})`;
}

/** A figure beside what it should be. */
export function printGoal(what: string, value: number, relation: '<=' | '>=', goal: number): void {
  const isReached = relation === '<=' ? value <= goal : value >= goal;
  console.log(
    `  ${what}: ${value.toFixed(2)}, goal ${relation} ${goal}  ${isReached ? 'reached' : 'missed'}`,
  );
}
