import * as z from 'zod';
import { defineVerb } from '../verb.ts';

/** Adds or replaces. The configuration that refers to it is loaded again before this resolves. */
export const putSecret = defineVerb({
  permission: 'update:settings',
  input: z.object({ name: z.string(), body: z.strictObject({ value: z.string() }) }),
  run: ({ actor, house }, { name, body }) => house.secrets.put(name, body.value, actor.name),
});
