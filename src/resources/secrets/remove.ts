import * as z from 'zod';
import { assertUnused } from '../../config/secret-references.ts';
import type { SecretFacts } from '../../config/secret-writer.ts';
import { notFound } from '../../lib/errors.ts';
import { defineVerb } from '../verb.ts';

/** Answers what it removed. Refused with `conflict` while the configuration refers to it. */
export const removeSecret = defineVerb({
  permission: 'update:settings',
  input: z.object({ name: z.string().max(512) }),
  async run({ house }, { name }): Promise<SecretFacts> {
    assertUnused(house.configuration().raw, name);
    const removed = await house.secrets.remove(name);
    if (removed === undefined) throw notFound('secret', name);
    return removed;
  },
});
