import { serverNow } from './words.js';

/** The API gives totals and when they were read; two readings make a rate. */

const MOST_READINGS = 60;

const known = new Map();

/** `{events, bytes, trend}` of each item, per second; undefined where it is not known. Forgets what is no longer listed. */
export function withRates(kind, items) {
  const before = new Map(known.get(kind));
  const now = new Map(items.map(item => [item.id, measure(kind, item.status, before.get(item.id))]));
  known.set(kind, now);
  return items.map(item => ({ ...item, rate: rateOf(now.get(item.id)) }));
}

export const forgetRates = () => known.clear();

function measure(kind, { timestamp, metrics }, before = { trend: [] }) {
  const way = kind === 'input' ? 'in' : 'out';
  const reading = { at: timestamp, events: metrics[`${way}_events`], bytes: metrics[`${way}_bytes`] };
  const ms = timestamp - before.last?.at;
  if (timestamp === 0 || ms === 0) return before;
  if (!(ms > 0)) return { ...before, last: reading };
  const events = perSecond(reading.events - before.last.events, ms);
  const bytes = perSecond(reading.bytes - before.last.bytes, ms);
  return {
    last: reading,
    every: ms,
    events,
    bytes,
    trend: [...before.trend, events ?? 0].slice(-MOST_READINGS),
  };
}

const perSecond = (increase, ms) => (increase >= 0 ? (increase * 1000) / ms : undefined);

/** A rate is about now: one whose next reading is overdue is no longer shown. */
function rateOf({ last, every, events, bytes, trend }) {
  const isOverdue = last === undefined || serverNow() - last.at > 3 * every + 5000;
  return isOverdue ? { trend } : { events, bytes, trend };
}

/** Paths of a line over the readings and of the ground under it, in a box of 100 by 24. */
export function trendPaths(trend) {
  if (trend.length < 2) return undefined;
  const top = Math.max(...trend, 1e-9);
  const step = 100 / (MOST_READINGS - 1);
  const left = 100 - step * (trend.length - 1);
  const points = trend.map(
    (value, index) => `${(left + index * step).toFixed(2)} ${(22.5 - (20 * value) / top).toFixed(2)}`,
  );
  return { line: `M${points.join('L')}`, ground: `M${left.toFixed(2)} 24L${points.join('L')}L100 24Z` };
}
