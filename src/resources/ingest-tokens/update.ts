import * as z from 'zod';
import { invalidField } from '../../auth/users.ts';
import { defineVerb } from '../verb.ts';
import { described, expiryOf, reference } from './noun.ts';

/** What is left out stays, null takes back. */
export const updateIngestToken = defineVerb({
  permission: 'update:settings',
  input: z.object({
    id: reference,
    body: z.strictObject({ ...described, pipeline: z.string().optional() }),
  }),
  run({ house }, { id, body }) {
    const token = house.ingestTokens.get(id);
    for (const key of ['id', 'pipeline'] as const)
      if (body[key] !== undefined && body[key] !== token[key])
        throw invalidField(key, 'cannot be changed; make another token');
    return house.ingestTokens.update(id, {
      description: body.description === null ? '' : body.description,
      isEnabled: body.enabled,
      expiresAt: expiryOf(body.expiresAt, house.clock),
    });
  },
});
