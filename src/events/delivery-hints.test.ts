import { expect, test } from 'vitest';
import { alarm } from '../../test/helpers/any-event.ts';
import { deliveryHintsOf, withDeliveryHints } from './delivery-hints.ts';

test('delivery hints go along and are in nothing that is written', () => {
  const event = withDeliveryHints(alarm, { ...alarm, __severity: 'fatal', __replica: 'edge' });
  expect(deliveryHintsOf(event)).toEqual({ __severity: 'fatal' });
  expect(JSON.stringify(event)).toBe(JSON.stringify(alarm));
  expect(Object.keys(event)).toEqual(Object.keys(alarm));
  expect(deliveryHintsOf(alarm)).toEqual({});
});
