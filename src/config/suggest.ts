const LONGEST = 64;
const SHORTEST_START = 3;

/** The candidate a person most likely meant by `text`, or undefined when none is near. */
export function suggest(text: string, candidates: Iterable<string>): string | undefined {
  if (text.length > LONGEST) return undefined;
  const wanted = text.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(text.length / 3)) + 1;
  for (const candidate of candidates) {
    if (candidate.length > LONGEST) continue;
    const distance = distanceOf(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** `; did you mean 'x'?`, or nothing. */
export function didYouMean(text: string, candidates: Iterable<string>): string {
  const candidate = suggest(text, candidates);
  return candidate === undefined ? '' : `; did you mean '${candidate}'?`;
}

/** Another case is nearest of all. An abbreviation, or what one stands for, is as near as one wrong letter. */
function distanceOf(wanted: string, candidate: string): number {
  if (wanted === candidate) return 0;
  const [short, long] = wanted.length < candidate.length ? [wanted, candidate] : [candidate, wanted];
  if (short.length >= SHORTEST_START && long.startsWith(short)) return 1;
  return long.length - short.length > LONGEST / 3
    ? Number.POSITIVE_INFINITY
    : editDistance(wanted, candidate);
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(
        cell(last, column) + 1,
        cell(current, column - 1) + 1,
        cell(last, column - 1) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1])
        cost = Math.min(cost, cell(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return cell(last, to.length);
}

const cell = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;
