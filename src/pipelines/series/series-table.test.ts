import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createSeriesStore } from './series-store.ts';
import { createSeriesTable, type SeriesTable } from './series-table.ts';

const TEXTS = ['a', 'b', 'a{', 'a{x="1"}', 'b{x="1"}', 'b{x="2"}', 'ab{x="1"}', '{"a",x="1"}', 'a{b{c'];

const command = fc.oneof(
  fc.record({ kind: fc.constant('toggle'), text: fc.constantFrom(...TEXTS) }),
  fc.record({ kind: fc.constant('toggle'), text: fc.nat(60).map(at => `n${at % 7}{l="${at}"}`) }),
  fc.record({ kind: fc.constant('clear'), text: fc.constant('') }),
);

const contentOf = (table: SeriesTable): Map<string, number> =>
  new Map([...table.firstEntries()].map(entry => [table.nameOf(entry) + table.labelsOf(entry), entry]));

it('finds what a map of texts would, whatever is added and removed', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 200 }), commands => {
      const store = createSeriesStore(1000);
      const table = createSeriesTable(store);
      const model = new Map<string, number>();
      for (const { kind, text } of commands) {
        if (kind === 'clear') {
          for (const entry of table.firstEntries()) store.release(entry);
          table.clear();
          model.clear();
          continue;
        }
        const known = model.get(text);
        expect(table.get(text)).toBe(known ?? -1);
        if (known === undefined) {
          const entry = store.allocate(undefined, undefined, -1);
          table.add(text, entry);
          model.set(text, entry);
        } else {
          table.remove(known);
          store.release(known);
          model.delete(text);
        }
      }
      expect(table.size).toBe(model.size);
      expect(contentOf(table)).toEqual(model);
      for (const text of TEXTS) expect(table.get(text)).toBe(model.get(text) ?? -1);
    }),
  );
});

it('keeps the series of two sources separate in one store', () => {
  const store = createSeriesStore(10);
  const [one, other] = [createSeriesTable(store), createSeriesTable(store)];
  one.add('a{x="1"}', store.allocate(undefined, undefined, -1));
  other.add('b{y="2"}', store.allocate(undefined, undefined, -1));
  expect([one.nameOf(0) + one.labelsOf(0), other.nameOf(1) + other.labelsOf(1)]).toEqual([
    'a{x="1"}',
    'b{y="2"}',
  ]);
  expect([one.get('b{y="2"}'), other.get('a{x="1"}')]).toEqual([-1, -1]);
});

it('knows a series where a page goes on with all of its text, and nowhere else', () => {
  const store = createSeriesStore(10);
  const table = createSeriesTable(store);
  table.add('in{id="a"}', store.allocate(undefined, undefined, -1));
  expect(table.lengthAt(0, 'x 1\nin{id="a"} 5\n', 4)).toBe(10);
  expect(table.lengthAt(0, 'in{id="ab"} 5\n', 0)).toBe(-1);
  expect(table.lengthAt(0, 'in_all{id="a"} 5\n', 0)).toBe(-1);
  expect(table.lengthAt(0, 'in{id="a"', 0)).toBe(-1);
});
