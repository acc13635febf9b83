/**
 * How cumulative counters become increases. Absence from a good reading needs no rule of its own: it
 * adds nothing; and a failed reading reaches none of this, so the next good one yields the whole gap.
 */

/**
 * Increase of a series seen before. `reborn`: it was missing from a good reading in between, or its
 * process was started anew, so it counted up from zero. A counter that went down did so too.
 */
export function delta(previous: number, value: number, reborn: boolean): number {
  return reborn || value < previous ? value : value - previous;
}

/**
 * Increase of a series never seen before. On an instance whose earlier readings lacked it, it began
 * in between and counts in full; on an instance met for the first time it is where counting begins.
 */
export function firstDelta(value: number, instanceWasRead: boolean): number {
  return instanceWasRead ? value : 0;
}

/**
 * True for a point that must not count: one with the time of the last one, or an older one. An older
 * time on a value that grew is a sender whose wall clock stepped back, and what it counted is new.
 * A time of NaN is no time.
 */
export function isLate(lastTime: number, time: number, grew: boolean): boolean {
  return time === lastTime || (time < lastTime && !grew);
}
