import * as z from 'zod';
import { ROLES, type Role } from '../auth/permissions.ts';
import { invalidField, type UserDetails } from '../auth/users/user.ts';
import type { UpdatedProfile } from '../auth/users/users.ts';
import { AppError } from '../lib/errors.ts';
import type { Call } from './context.ts';
import { pageQuery, pageRequest, toListPage } from './paging.ts';
import { defineVerb } from './verb.ts';

/** Names of people go into mail and logs: on one line, and no longer than anybody's. */
const line = (longest: number) =>
  z
    .string()
    .max(longest)
    .refine(text => !/[\p{Cc}\p{Cs}]/u.test(text), 'must not hold control characters');

/** Fields of a person; null removes one. */
const personFields = {
  email: line(254).nullish().describe('Where mail reaches the user.'),
  first: line(140).nullish(),
  last: line(140).nullish(),
};

/** Ids that may be chosen; those of this server's own making are of the kind as well. */
const userId = z.string().regex(/^[a-zA-Z0-9_-]{1,512}$/, 'must be letters, digits, "_" and "-"');

/** As paths name users: by id or by name. */
const userReference = z.string().max(512);

const roles = z
  .array(z.enum(ROLES))
  .max(ROLES.length)
  .describe(
    'Each role holds the ones after it: admin, editor, notification_admin, reader, user. The strongest counts.',
  );

/** Tools of Cribl-compatible clients send it. There are none here. */
const teams = z.array(z.string()).max(0).nullish().describe('There are no teams: always empty.');

/** Roles include each other, so the strongest one is enough; nobody has less than `user`. */
const strongestRole = (given: readonly Role[]): Role => ROLES.find(role => given.includes(role)) ?? 'user';

/** The stored form of a text; one that was removed is stored as ''. */
const textOrEmpty = (text: string | null | undefined): string | undefined => (text === null ? '' : text);

/** Local users by name. */
export const listUsers = defineVerb({
  permission: 'read:users',
  input: z.object(pageQuery),
  run: async ({ context }, query) =>
    toListPage(query, await context.users.list(pageRequest(query)), user => user),
});

export const getUser = defineVerb({
  permission: 'read:users',
  input: z.object({ id: userReference }),
  run: ({ context }, { id }) => context.users.get(id),
});

export const createUser = defineVerb({
  permission: 'update:users',
  input: z.object({
    body: z.strictObject({
      id: userId.optional().describe('Left out, one is made.'),
      username: z.string().describe('Trimmed and in lower case; at most 254 characters.'),
      password: z.string().describe('15 to 256 characters, none of the common ones, without the user name.'),
      ...personFields,
      roles: roles.default(['user']),
      teams,
      disabled: z.boolean().default(false),
      kind: z.enum(['person', 'machine']).default('person').describe('A machine is a job or a program.'),
      forcePasswordChange: z
        .boolean()
        .optional()
        .describe(
          'Whether the first login may do nothing but choose another password; for people it does, by default.',
        ),
    }),
  }),
  run: ({ context }, { body }) =>
    context.users.create({
      id: body.id,
      username: body.username,
      password: body.password,
      email: textOrEmpty(body.email),
      first: textOrEmpty(body.first),
      last: textOrEmpty(body.last),
      role: strongestRole(body.roles),
      disabled: body.disabled,
      kind: body.kind,
      mustChangePassword: body.forcePasswordChange,
    }),
});

/**
 * Omitted fields stay. A new password of somebody else is one to be changed at the next login, unless the body
 * says otherwise; the own one needs the present one.
 */
export const updateUser = defineVerb({
  permission: 'update:users',
  input: z.object({
    id: userReference,
    body: z.strictObject({
      id: z.string().optional(),
      username: z.string().optional(),
      password: z.string().optional(),
      currentPassword: z.string().optional().describe('Of the caller, to change their own password.'),
      ...personFields,
      roles: roles.optional(),
      teams,
      disabled: z.boolean().optional(),
      kind: z.enum(['person', 'machine']).optional(),
      forcePasswordChange: z.boolean().optional(),
    }),
  }),
  async run({ context, actor, origin }, { id, body }): Promise<UserDetails> {
    const user = await context.users.get(id);
    for (const key of ['id', 'username', 'kind'] as const)
      if (body[key] !== undefined && body[key] !== user[key])
        throw invalidField(key, 'cannot be changed; make another user');
    const { password } = body;
    const isOwn = user.id === actor.id;
    if (isOwn && password !== undefined)
      await context.users.verifyCurrentPassword(actor, body.currentPassword, origin.address);
    return context.users.update(user.id, {
      password,
      email: textOrEmpty(body.email),
      first: textOrEmpty(body.first),
      last: textOrEmpty(body.last),
      role: body.roles && strongestRole(body.roles),
      disabled: body.disabled,
      mustChangePassword: body.forcePasswordChange,
    });
  },
});

/** Answers what it removed; all tokens of the user end. */
export const removeUser = defineVerb({
  permission: 'update:users',
  input: z.object({ id: userReference }),
  run: ({ context }, { id }) => context.users.remove(id),
});

/** Ends every token of the user, who can log in again. */
export const endTokens = defineVerb({
  permission: 'update:users',
  input: z.object({ id: userReference }),
  async run({ context }, { id }): Promise<{ readonly success: true }> {
    await context.users.endTokens(id);
    return { success: true };
  },
});

/** Throws `forbidden` for anybody else's id or name, whether it is there or not. */
async function ownUser({ context, actor }: Call, reference: string): Promise<UserDetails> {
  if (reference !== actor.id && reference.toLowerCase() !== actor.name)
    throw new AppError(
      'forbidden',
      'Only the users themselves can do this; admins change users at /system/users/{id}',
    );
  return context.users.get(actor.id);
}

export const getProfile = defineVerb({
  permission: 'any actor',
  isOpenBeforePasswordChange: true,
  input: z.object({ id: userReference }),
  run: (call, { id }) => ownUser(call, id),
});

const body = z.strictObject({
  ...personFields,
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
function assertUnchanged(sent: z.output<typeof body>, user: UserDetails): void {
  const now = { ...user, role: undefined };
  for (const key of ['id', 'username', 'email', 'disabled'] as const)
    if (sent[key] !== undefined && (sent[key] ?? '') !== now[key]) throw adminsOnly(key);
  if (sent.roles !== undefined && strongestRole(sent.roles) !== user.role) throw adminsOnly('roles');
}

const adminsOnly = (key: string): AppError =>
  new AppError('forbidden', `Only an admin changes '${key}' of a user`);

/** The own first and last name, and with the current password the own password, which answers a fresh token. */
export const updateProfile = defineVerb({
  permission: 'any actor',
  isOpenBeforePasswordChange: true,
  input: z.object({ id: userReference, body }),
  async run(call, { id, body: sent }): Promise<UpdatedProfile> {
    assertUnchanged(sent, await ownUser(call, id));
    const { password, currentPassword } = sent;
    const own = { first: textOrEmpty(sent.first), last: textOrEmpty(sent.last), password, currentPassword };
    return call.context.users.updateProfile(call.actor, own, call.origin.address);
  },
});
