import { expect, test } from 'vitest';
import { story } from '../../test/helpers/story.ts';
import { conditions, EVENT_FIELDS } from './index.ts';
import { sampleEvent } from './sample-event.ts';

/** Conditions with events that Headgate knows before any comes. */
const withSample = conditions.filter(({ receivesEvents }) => receivesEvents !== true);

test.each(withSample.map(one => [one.id, one] as const))(
  'a sample of %s has what the condition adds, under names that events have',
  (id, condition) => {
    const event = sampleEvent(condition);
    expect(event).toMatchObject({
      condition: id,
      ...(condition.source === 'component' && { _metric: expect.any(String) }),
    });
    const names = Object.keys(event ?? {}).filter(name => !EVENT_FIELDS.has(name));
    expect(names).toEqual(condition.source === 'expiry' ? [] : ['__pipeline']);
  },
);

test('every field of an event is among those that templates may name', async () => {
  const { whole, ok } = await story();
  expect([...EVENT_FIELDS]).toEqual(expect.arrayContaining([...Object.keys(whole), ...Object.keys(ok)]));
});
