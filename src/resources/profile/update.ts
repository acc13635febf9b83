import * as z from 'zod';
import type { OwnProfile } from '../../auth/user-administration.ts';
import type { UserFacts } from '../../auth/users.ts';
import { AppError } from '../../lib/errors.ts';
import { kept, person, reference, roles, strongest, teams } from '../users/noun.ts';
import { defineVerb } from '../verb.ts';
import { ownUser } from './own.ts';

const body = z.strictObject({
  ...person,
  password: z
    .string()
    .optional()
    .describe('A new one, as for users that are made; all tokens end with the old one.'),
  currentPassword: z.string().optional().describe('Needed with `password`.'),
  id: z.string().optional(),
  username: z.string().optional(),
  roles: roles.optional(),
  teams,
  disabled: z.boolean().optional(),
});

/** Throws `forbidden` for what only an admin changes; tools send the whole profile back, which is no change. */
function assertUnchanged(sent: z.output<typeof body>, user: UserFacts): void {
  const now = { ...user, role: undefined };
  for (const key of ['id', 'username', 'email', 'disabled'] as const)
    if (sent[key] !== undefined && (sent[key] ?? '') !== now[key]) throw adminsOnly(key);
  if (sent.roles !== undefined && strongest(sent.roles) !== user.role) throw adminsOnly('roles');
}

const adminsOnly = (key: string): AppError =>
  new AppError('forbidden', `Only an admin changes '${key}' of a user`);

/** The own first and last name, and with the current password the own password, which answers a fresh token. */
export const updateProfile = defineVerb({
  permission: 'any actor',
  isOpenBeforePasswordChange: true,
  input: z.object({ id: reference, body }),
  async run(call, { id, body: sent }): Promise<OwnProfile> {
    assertUnchanged(sent, await ownUser(call, id));
    const { password, currentPassword } = sent;
    const own = { first: kept(sent.first), last: kept(sent.last), password, currentPassword };
    return call.house.users.updateOwn(call.actor, own, call.origin.address);
  },
});
