import * as z from 'zod';
import { notFound } from '../../lib/errors.ts';
import { defineVerb } from '../verb.ts';

export const getMessage = defineVerb({
  permission: 'read:messages',
  input: z.object({ id: z.string().max(512) }),
  async run({ house }, { id }) {
    const message = await house.stores.messages.get(id);
    if (message === undefined) throw notFound('message', id);
    return message;
  },
});
