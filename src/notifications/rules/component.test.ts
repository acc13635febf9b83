import { expect, it } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import { testComponents } from '../../../test/helpers/components.ts';
import { noData } from '../../conditions/no-data.ts';
import { createSubjectTable } from '../subjects.ts';
import { createSubjectState, subjectsOf } from './component.ts';

it('forgets since when a condition is pending or was not evaluated on a subject that is gone', () => {
  const components = testComponents(testClock());
  const table = createSubjectTable(components);
  const active = { ...createSubjectState(noData.configure({ name: '*' }), 0), incidents: new Map() };
  components.add('app');
  components.add('web', { pipeline: 'core' });
  table.refresh();
  for (const { key } of subjectsOf(active, table, 0))
    for (const times of [active.pendingSince, active.disabledAt]) times.set(key, 0);
  components.remove('core');
  table.refresh();
  subjectsOf(active, table, 1000);
  for (const times of [active.pendingSince, active.disabledAt])
    expect([...times.keys()]).toEqual(['edge/syslog:app']);
});
