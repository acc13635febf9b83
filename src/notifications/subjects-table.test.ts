import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { noData } from '../conditions/no-data.ts';
import type { Component, Components } from '../pipelines/components/component.ts';
import { createComponentMatcher, createSubjectTable, subjectReader } from './subjects.ts';

const NAMES = ['*', 'syslog:*', '*b*', 'syslog:a', 'a', 'a/b', 'a_b', 'tcp:a_b'];

const component = fc.record({
  group: fc.constantFrom('default', 'west'),
  pipeline: fc.constantFrom('edge', 'core'),
  engine: fc.constant('vector'),
  kind: fc.constantFrom('input' as const, 'output' as const),
  type: fc.constantFrom('syslog', 'tcp'),
  engineId: fc.constantFrom('a', 'b', 'a/b'),
});
const step = fc.oneof(fc.record({ add: component }), fc.record({ remove: fc.nat() }), fc.constant('read'));

it('finds the same subjects as a look at every component, whatever has come and gone since the last look', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, west) => {
      let revision = 0;
      let present: Component[] = [];
      const table = createSubjectTable({
        get revision() {
          return revision;
        },
        all: () => present,
      } satisfies Pick<Components, 'all' | 'revision'>);
      const rules = NAMES.map(name => {
        const { conf } = noData.configure({ name, ...(west && { __workerGroup: 'west' }) });
        return { matches: createComponentMatcher(conf, 'input'), read: subjectReader(conf, 'input') };
      });
      for (const one of steps) {
        if (one === 'read') {
          table.refresh();
          for (const { matches, read } of rules) {
            const components = read(table).map(subject => subject.component);
            expect(components).toHaveLength(present.filter(matches).length);
            expect(new Set(components)).toEqual(new Set(present.filter(matches)));
          }
          continue;
        }
        revision += 1;
        if ('add' in one) present = [...present, { ...one.add, id: one.add.engineId.replace('/', '_') }];
        else present = present.filter((_, at) => at !== one.remove % present.length);
      }
    }),
    { numRuns: 500 },
  );
});

it('keeps the same list while no matching subject has come or gone', () => {
  let revision = 0;
  const all: Component[] = [];
  const add = (engineId: string) => {
    revision += 1;
    all.push({
      group: 'default',
      pipeline: 'edge',
      engine: 'vector',
      kind: 'input',
      type: 'syslog',
      engineId,
      id: engineId,
    });
  };
  const table = createSubjectTable({
    get revision() {
      return revision;
    },
    all: () => all,
  });
  const read = subjectReader(noData.configure({ name: 'syslog:a*' }).conf, 'input');
  add('a1');
  table.refresh();
  const before = read(table);
  add('b1');
  table.refresh();
  expect(read(table)).toBe(before);
  add('a2');
  table.refresh();
  expect(read(table).map(subject => subject.name)).toEqual(['syslog:a1', 'syslog:a2']);
});
