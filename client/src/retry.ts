/** The longest a client lets a server make it wait. */
const LONGEST_MS = 60_000;
const FIRST_MS = 250;

/** Milliseconds of a Retry-After header, seconds or a date (RFC 9110 section 10.2.3); undefined without one. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), LONGEST_MS);
}

/** Twice as long each time, and anywhere between half of it and all, so that many clients do not come at once. */
export function backOffMs(tries: number, random: number): number {
  const whole = Math.min(FIRST_MS * 2 ** (tries - 1), LONGEST_MS);
  return whole * (0.5 + random / 2);
}
