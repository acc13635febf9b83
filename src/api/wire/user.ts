import * as z from 'zod';
import { ROLES } from '../../auth/permissions.ts';
import type { OwnProfile } from '../../auth/user-administration.ts';
import type { UserFacts } from '../../auth/users.ts';
import { isoTime } from '../envelope.ts';
import type { Shape } from '../shape.ts';

const user = z.object({
  id: z.string(),
  username: z.string(),
  email: z.string(),
  first: z.string(),
  last: z.string(),
  roles: z.array(z.enum(ROLES)).readonly(),
  disabled: z.boolean(),
  kind: z.enum(['person', 'machine']),
  forcePasswordChange: z.boolean(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
/** A local user; never a password or what is kept of one. */
export const userShape: Shape = { name: 'User', schema: user };

export const wireUser = (facts: UserFacts): z.output<typeof user> => ({
  id: facts.id,
  username: facts.username,
  email: facts.email,
  first: facts.first,
  last: facts.last,
  roles: [facts.role],
  disabled: facts.disabled,
  kind: facts.kind,
  forcePasswordChange: facts.mustChangePassword,
  createdAt: isoTime(facts.createdAt),
  updatedAt: isoTime(facts.updatedAt),
});

const profile = user.extend({
  token: z
    .string()
    .optional()
    .describe('After a change of password, which ends every token: a fresh one, with its word Bearer.'),
});
export const profileShape: Shape = { name: 'Profile', schema: profile };

export const wireProfile = ({ user: facts, token }: OwnProfile): z.output<typeof profile> => ({
  ...wireUser(facts),
  ...(token !== undefined && { token }),
});

const success = z.object({ success: z.literal(true) });
export const successShape: Shape = { name: 'Success', schema: success };
export const wireSuccess = (done: z.output<typeof success>): z.output<typeof success> => done;
