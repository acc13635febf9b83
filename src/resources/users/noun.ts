import * as z from 'zod';
import { ROLES, type Role } from '../../auth/permissions.ts';

/** Names of people go into mail and logs: on one line, and no longer than anybody's. */
const line = (longest: number) =>
  z
    .string()
    .max(longest)
    .refine(text => !/[\p{Cc}\p{Cs}]/u.test(text), 'must not hold control characters');

/** What is said of a person; null takes it back. */
export const person = {
  email: line(254).nullish().describe('Where mail reaches the user.'),
  first: line(140).nullish(),
  last: line(140).nullish(),
};

/** Ids that may be chosen; those of this server's own making are of the kind as well. */
export const userId = z.string().regex(/^[a-zA-Z0-9_-]{1,512}$/, 'must be letters, digits, "_" and "-"');

/** As paths name users: by id or by name. */
export const reference = z.string().max(512);

export const roles = z
  .array(z.enum(ROLES))
  .max(ROLES.length)
  .describe(
    'Each role holds the ones after it: admin, editor, notification_admin, reader, user. The strongest counts.',
  );

/** The family's tools send it. There are none here. */
export const teams = z.array(z.string()).max(0).nullish().describe('There are no teams: always empty.');

/** Roles hold each other, so the strongest says it all; nobody has less than `user`. */
export const strongest = (given: readonly Role[]): Role => ROLES.find(role => given.includes(role)) ?? 'user';

/** What the store keeps of a text that was taken back. */
export const kept = (text: string | null | undefined): string | undefined => (text === null ? '' : text);
