import * as z from 'zod';
import type { SecretFacts } from '../../config/secret-writer.ts';
import { notFound } from '../../lib/errors.ts';
import { defineVerb } from '../verb.ts';

/** Its name and times, never its value. */
export const getSecret = defineVerb({
  permission: 'read:settings',
  input: z.object({ name: z.string().max(512) }),
  run({ house }, { name }): SecretFacts {
    const facts = house.secrets.list().find(one => one.name === name);
    if (facts === undefined) throw notFound('secret', name);
    return facts;
  },
});
