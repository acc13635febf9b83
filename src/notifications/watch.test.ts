import { expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { testComponents } from '../../test/helpers/components.ts';
import { configureNotification } from './notification.ts';
import { createSubjectTable } from './subject-table.ts';
import { createWatch, subjectsOf } from './watch.ts';

it('forgets since when a condition holds or was not asked on a subject that is gone', () => {
  const components = testComponents(testClock());
  const table = createSubjectTable(components);
  const watch = createWatch(
    configureNotification({ id: 'silent', condition: 'no-data', conf: { name: '*' } }),
    0,
  );
  if (watch.source !== 'component') throw new Error('it is one on components');
  components.add('app');
  components.add('web', { pipeline: 'core' });
  table.refresh();
  for (const { key } of subjectsOf(watch, table, 0))
    for (const times of [watch.holding, watch.rested]) times.set(key, 0);
  components.remove('core');
  table.refresh();
  subjectsOf(watch, table, 1000);
  for (const times of [watch.holding, watch.rested]) expect([...times.keys()]).toEqual(['edge/syslog:app']);
});
