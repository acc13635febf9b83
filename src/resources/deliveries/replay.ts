import * as z from 'zod';
import { identifier } from '../../lib/schemas.ts';
import { defineVerb } from '../verb.ts';

const GIVEN_UP = ['refused', 'exhausted'] as const;

const body = z
  .strictObject({
    since: z.iso.datetime({ offset: true }).describe('Deliveries made then or later.'),
    until: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('Deliveries made before; without it until now.'),
    states: z
      .array(z.enum(GIVEN_UP))
      .min(1)
      .default([...GIVEN_UP])
      .describe('Which of those that were given up.'),
    target: identifier.optional().describe('Only those to this target.'),
    notification: identifier.optional().describe('Only those of this notification.'),
  })
  .refine(({ since, until }) => until === undefined || Date.parse(since) < Date.parse(until), {
    path: ['until'],
    error: 'must be later than since',
  });

/** Puts what was given up in a range of time back into the queue, in order. */
export const replayDeliveries = defineVerb({
  permission: 'update:deliveries',
  input: z.object({ body }),
  run({ house }, { body: { since, until, states, target, notification } }) {
    const filter = {
      states,
      since: Date.parse(since),
      ...(until !== undefined && { until: Date.parse(until) }),
      ...(target !== undefined && { target }),
      ...(notification !== undefined && { notification }),
    };
    return house.requeue(filter, house.clock.now());
  },
});
