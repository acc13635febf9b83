import * as z from 'zod';
import { listed, pageQuery, pageRequest } from '../paging.ts';
import { defineVerb } from '../verb.ts';

const text = z.string().max(512).optional();
const time = z.iso.datetime({ offset: true }).optional();

/** Who did what and what was refused, newest first. */
export const listAudit = defineVerb({
  permission: 'read:audit',
  input: z.object({
    ...pageQuery,
    actor: text.describe('Name of a user.'),
    action: text.describe('An operation, as in `users.update`.'),
    target: text.describe('Id or name of what it was done to.'),
    result: z.enum(['ok', 'refused']).optional(),
    since: time.describe('Then or later.'),
    until: time.describe('Before.'),
  }),
  async run({ house }, { actor, action, target, result, since, until, ...page }) {
    const filter = {
      ...(actor !== undefined && { actor }),
      ...(action !== undefined && { action }),
      ...(target !== undefined && { target }),
      ...(result !== undefined && { result }),
      ...(since !== undefined && { since: Date.parse(since) }),
      ...(until !== undefined && { until: Date.parse(until) }),
    };
    return listed(page, await house.stores.audit.list(filter, pageRequest(page)), row => row);
  },
});
