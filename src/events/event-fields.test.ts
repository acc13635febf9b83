import { expect, test } from 'vitest';
import { story } from '../../test/helpers/story.ts';
import { EVENT_FIELDS } from './event-fields.ts';

test('every field of an event is among those that templates may name', async () => {
  const { whole, ok } = await story();
  expect(EVENT_FIELDS).toEqual(expect.arrayContaining([...Object.keys(whole), ...Object.keys(ok)]));
});
