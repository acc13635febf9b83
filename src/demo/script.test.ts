import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COMPONENTS, outline, totalsOf } from './script.ts';

function part(id: string) {
  const found = COMPONENTS.find(one => one.id === id);
  if (found === undefined) throw new Error(`no part ${id}`);
  return found;
}

const gained = (id: string, fromMs: number, toMs: number): number =>
  totalsOf(part(id), toMs).events - totalsOf(part(id), fromMs).events;

describe('the script of the simulated pipeline', () => {
  it.each(COMPONENTS)('counts of $type:$id never go down', one => {
    const time = fc.integer({ min: 0, max: 3_600_000 });
    fc.assert(
      fc.property(time, fc.integer({ min: 0, max: 5000 }), (at, later) => {
        const [before, after] = [totalsOf(one, at), totalsOf(one, at + later)];
        expect(after.events).toBeGreaterThanOrEqual(before.events);
        expect(after.bytes).toBeGreaterThanOrEqual(before.bytes);
        expect(after.errors).toBeGreaterThanOrEqual(before.errors);
      }),
    );
  });

  it.each([0, 120_000, 1_200_000])(
    'stops syslog:app from 15 to 45 s of the round that begins at %i ms',
    round => {
      expect(gained('app', round + 12_000, round + 14_000)).toBeGreaterThan(0);
      expect(gained('app', round + 15_000, round + 45_000)).toBe(0);
      expect(gained('app', round + 45_000, round + 46_000)).toBeGreaterThan(0);
    },
  );

  it('lets every input come back, and stops each within two minutes', () => {
    for (const { kind, id, outage } of COMPONENTS) {
      if (kind === 'output') continue;
      expect(outage?.toMs).toBeLessThan(120_000);
      expect(gained(id, 118_000, 119_000)).toBeGreaterThan(0);
    }
  });

  it('queues what a stuck output cannot send, with errors, and sends it all afterwards', () => {
    const stuck = totalsOf(part('search'), 85_000);
    expect(gained('search', 75_001, 89_000)).toBe(0);
    expect(stuck.queued).toBeGreaterThan(0);
    expect(stuck.errors).toBe(20);
    const after = totalsOf(part('search'), 100_000);
    expect(after.queued).toBe(0);
    expect(after.events).toBeGreaterThan(totalsOf(part('search'), 74_000).events + stuck.queued);
  });

  it('is outlined in the order in which it happens', () => {
    const lines = outline();
    expect(lines[0]).toBe('0:15 to 0:45  input syslog:app stops');
    expect(lines).toContain('1:15 to 1:30  output elasticsearch:search is stuck');
    expect(lines).toEqual([...lines].sort());
  });
});
