import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Makes ids: UUID version 7 (RFC 9562 section 5.7), strictly growing within the process. */
export interface Ids {
  next(): string;
}

/** Ids whose order outlives the process. */
export interface MonotonicIds extends Ids {
  /** Every later id is greater than this one: the wall clock may have been set back since it was made. */
  advancePast(id: string): void;
}

/**
 * An id that the same parts give always: a UUID version 8 (RFC 9562 section 5.8) of 106 bits of their SHA-256, which
 * stands before every id that was made of a time.
 */
export function deterministicId(...parts: readonly string[]): string {
  const hex = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  const variant = HEX[(Number.parseInt(hex.slice(0, 2), 16) & 0x3f) | 0x80];
  return `0000${hex.slice(2, 6)}-${hex.slice(6, 10)}-8${hex.slice(10, 13)}-${variant}${hex.slice(13, 15)}-${hex.slice(15, 27)}`;
}

/** Less than every id made at `ms` (epoch) or later, greater than those made before. */
export const idFloor = (ms: number): string => timePart(Math.max(0, Math.floor(ms)));

/** Epoch ms at which an id was made that `monotonicIds` made; NaN of other texts. */
export const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

function timePart(ms: number): string {
  const time = ms.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const POOL_BYTES = 4096;
const MAX_COUNTER = 0xfff;

/**
 * The 12 bits after the version are a counter that grows within a millisecond; when it overflows, or
 * when the wall clock steps back, the timestamp runs ahead instead, so order never breaks.
 */
export function monotonicIds(clock: Pick<Clock, 'now'>): MonotonicIds {
  let lastMs = 0;
  let counter = 0;
  let pool = Buffer.alloc(0);
  let at = 0;

  function random(count: number): Buffer {
    if (at + count > pool.length) {
      pool = randomBytes(POOL_BYTES);
      at = 0;
    }
    at += count;
    return pool.subarray(at - count, at);
  }

  return {
    advancePast(id) {
      const madeAt = timeOf(id);
      if (madeAt < lastMs || Number.isNaN(madeAt)) return;
      lastMs = madeAt;
      counter = MAX_COUNTER;
    },
    next() {
      const now = clock.now();
      if (now > lastMs) {
        lastMs = now;
        counter = random(2).readUInt16BE() & 0x7ff;
      } else if (++counter > MAX_COUNTER) {
        lastMs += 1;
        counter = 0;
      }
      const tail = random(8);
      const variant = HEX[((tail[0] ?? 0) & 0x3f) | 0x80];
      let rest = '';
      for (let index = 1; index < 8; index++) rest += HEX[tail[index] ?? 0];
      const count = counter.toString(16).padStart(3, '0');
      return `${timePart(lastMs)}-7${count}-${variant}${rest.slice(0, 2)}-${rest.slice(2)}`;
    },
  };
}
