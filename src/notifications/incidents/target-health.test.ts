import { expect, it } from 'vitest';
import { incidentRow } from '../../../test/storage/rows.ts';
import { TARGET_HEALTH } from '../notification.ts';
import { failingTargets } from './target-health.ts';

it('knows after a restart which targets fail and which gave up a delivery, whatever the text is', () => {
  const row = (target: string, reported_state: string | null) =>
    incidentRow({ notification: TARGET_HEALTH, subject: `*/${target}`, reported_state });
  const open = [
    row('slow', 'failing'),
    row('gone', 'exhausted'),
    incidentRow({ subject: '*/other', reported_state: 'exhausted' }),
  ];
  expect([...failingTargets(open)]).toEqual([
    ['slow', 'failing'],
    ['gone', 'exhausted'],
  ]);
});
