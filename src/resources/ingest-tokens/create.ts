import * as z from 'zod';
import { invalidField } from '../../auth/users.ts';
import type { Configuration } from '../../config/load.ts';
import { identifier } from '../../lib/schemas.ts';
import { defineVerb } from '../verb.ts';
import { described, expiryOf } from './noun.ts';

/** Answers the secret, which nobody can read again. */
export const createIngestToken = defineVerb({
  permission: 'update:settings',
  input: z.object({
    body: z.strictObject({
      ...described,
      id: identifier.optional().describe('Left out, one is made.'),
      pipeline: identifier.describe('The pipeline whose metrics its sender may push.'),
    }),
  }),
  run({ house }, { body: { id, pipeline, description, enabled = true, expiresAt } }) {
    assertPushes(house.configuration(), pipeline);
    return house.ingestTokens.create({
      id,
      pipeline,
      description: description ?? '',
      isEnabled: enabled,
      expiresAt: expiryOf(expiresAt, house.clock) ?? null,
    });
  },
});

function assertPushes({ settings }: Configuration, id: string): void {
  const pipeline = settings.pipelines.find(one => one.id === id);
  if (pipeline === undefined) throw invalidField('pipeline', `'${id}' is not configured`);
  if (!pipeline.push)
    throw invalidField('pipeline', `'${id}' is read from its url; only one with push: true takes tokens`);
}
