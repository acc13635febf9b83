import * as z from 'zod';
import type { MessageRow } from '../../storage/storage.ts';
import { defineVerb } from '../verb.ts';

/** Answers what it removed; undefined when there was none, which is no error: somebody else cleared it. */
export const removeMessage = defineVerb({
  permission: 'update:messages',
  input: z.object({ id: z.string().max(512) }),
  run: ({ house }, { id }): Promise<MessageRow | undefined> => house.transaction(tx => tx.removeMessage(id)),
});
