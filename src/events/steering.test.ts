import { expect, test } from 'vitest';
import { alarm } from '../../test/helpers/any-event.ts';
import { steeringOf, withSteering } from './steering.ts';

test('what steers a target goes along and is in nothing that is written', () => {
  const event = withSteering(alarm, { ...alarm, __severity: 'fatal', __replica: 'edge' });
  expect(steeringOf(event)).toEqual({ __severity: 'fatal' });
  expect(JSON.stringify(event)).toBe(JSON.stringify(alarm));
  expect(Object.keys(event)).toEqual(Object.keys(alarm));
  expect(steeringOf(alarm)).toEqual({});
});
