import { expect, it } from 'vitest';
import { withChanges } from './incidents.ts';

const event = (status: 'ALARM' | 'OK', at: number) => ({ id: `e${at}`, status, _time: at, _raw: status });

it('names what each event of an incident changed', () => {
  const events = [
    event('ALARM', 1),
    event('ALARM', 2),
    event('OK', 3),
    event('ALARM', 4),
    event('ALARM', 5),
    event('OK', 6),
  ];
  const changes = (state: 'open' | 'closed') => withChanges(events, state).map(({ change }) => change);
  const before = ['opened', 'reminder', 'no longer met, alarm kept', 'met again', 'reminder'];
  expect(changes('closed')).toEqual([...before, 'resolved']);
  expect(changes('open')).toEqual([...before, 'no longer met, alarm kept']);
});
