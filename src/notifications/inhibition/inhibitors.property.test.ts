import fc from 'fast-check';
import { expect, it } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { silentLogger } from '../../lib/logger.ts';
import { compileMatchers, fieldsOf, type Matcher } from '../matchers.ts';
import { configureInhibition, type InhibitionRule } from './inhibition-rule.ts';
import { Inhibitors } from './inhibitors.ts';

const FIELDS = ['a', 'b', 'c'];
const VALUES = ['', 'x', 'y'];

const matcher: fc.Arbitrary<Matcher> = fc.record({
  name: fc.constantFrom(...FIELDS),
  op: fc.constantFrom('=', '!=', '=~', '!~'),
  value: fc.constantFrom('x', 'y', 'x|y', 'x|'),
});
const side = fc.array(matcher, { minLength: 1, maxLength: 2 });
const equal = fc.uniqueArray(fc.constantFrom(...FIELDS), { maxLength: 2 });
const rules = fc
  .array(fc.record({ when: side, hold: side, equal }), { minLength: 1, maxLength: 4 })
  .map(all => all.map((rule, index) => configureInhibition({ id: `rule${index}`, ...rule })));
/** A field is missing, or empty, or has a value. */
const fields = fc.dictionary(fc.constantFrom(...FIELDS), fc.constantFrom(...VALUES), { maxKeys: 3 });
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('open' as const), fields }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('close' as const), nth: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('undo' as const), fields }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop rules' as const), count: fc.nat(4) }) },
);
/** Whom an incident waits for, as pairs of places. */
const waits = fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { maxLength: 4 });

const eventOf = (id: string, own: Readonly<Record<string, string>>): HeadgateEvent => ({
  ...{ id, status: 'ALARM', condition: 'monitor-alerts', cribl_notification: 'n', incidentId: id },
  ...{ _time: 0, starttime: 0, endtime: 0, severity: 'warn', _raw: '' },
  ...own,
});

/** True when the second incident inhibits the first one by the rule, as the definition says. */
function inhibitsBy({ settings }: InhibitionRule, held: HeadgateEvent, other: HeadgateEvent): boolean {
  const [when, hold] = [compileMatchers(settings.when), compileMatchers(settings.hold)];
  const [own, its] = [fieldsOf(held), fieldsOf(other)];
  const isBothSided = when(own) && hold(own) && when(its) && hold(its);
  return hold(own) && when(its) && !isBothSided && settings.equal.every(name => own(name) === its(name));
}

/** What opens and closes while it runs is known without a store. */
const NOT_READ = {
  in: () => {
    throw new Error('not used');
  },
};

it('finds an incident that inhibits an alarm exactly where the definition has one, whatever opened and closed', () => {
  fc.assert(
    fc.property(rules, fc.array(step, { maxLength: 25 }), fields, waits, (all, steps, asked, chains) => {
      const inhibitors = new Inhibitors({
        ...{ workspace: 'default', storage: NOT_READ, clock: testClock(), logger: silentLogger },
      });
      let active = all;
      inhibitors.configure(active);
      const open = new Map<string, HeadgateEvent>();
      steps.forEach((made, index) => {
        const id = `i${index}`;
        if (made.do === 'drop rules') {
          active = active.slice(made.count);
          inhibitors.configure(active);
        } else if (made.do === 'close') {
          const closing = [...open.keys()][made.nth % Math.max(1, open.size)];
          if (closing === undefined) return;
          inhibitors.changing({ id: closing, seq: 2, state: 'closed' }, eventOf(closing, {}));
          open.delete(closing);
        } else {
          const event = eventOf(id, made.fields);
          const undo = inhibitors.changing({ id, seq: 1, state: 'open' }, event);
          if (made.do === 'undo') undo();
          else open.set(id, event);
        }
      });
      const waiting = new Map(chains.map(([from, to]) => [`i${from}`, `i${to}`]));
      const waitsFor = (incident: string) => waiting.get(incident);
      /** The incidents that one waits for, itself included. */
      const chainOf = (incident: string): ReadonlySet<string> => {
        const seen = new Set<string>();
        for (let next: string | undefined = incident; next !== undefined && !seen.has(next); ) {
          seen.add(next);
          next = waiting.get(next);
        }
        return seen;
      };
      const isCircle = (incident: string): boolean => {
        const chain = [...chainOf(incident)];
        return waiting.has(chain.at(-1) ?? '');
      };
      for (const [incident, event] of [...open, ['new', eventOf('new', asked)] as const]) {
        const found = inhibitors.inhibitorFor(event, { incident, waitsFor });
        const expected = [...open].filter(
          ([other, its]) =>
            other !== incident &&
            !chainOf(other).has(incident) &&
            !isCircle(other) &&
            active.some(rule => inhibitsBy(rule, event, its)),
        );
        expect(found?.incident === undefined).toBe(expected.length === 0);
        if (found !== undefined) {
          const rule = active.find(({ id }) => id === found.rule);
          const its = open.get(found.incident);
          expect(rule !== undefined && its !== undefined && inhibitsBy(rule, event, its)).toBe(true);
          expect(expected.map(([other]) => other)).toContain(found.incident);
          // It stays with what it waits for, as long as that inhibits it.
          expect(inhibitors.inhibitorFor(event, { incident, waitsFor, present: found })).toEqual(found);
        }
      }
    }),
    { numRuns: 300 },
  );
});
