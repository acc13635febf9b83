import * as z from 'zod';
import type { UserFacts } from '../../auth/users.ts';
import { invalidField } from '../../auth/users.ts';
import { defineVerb } from '../verb.ts';
import { kept, person, reference, roles, strongest, teams } from './noun.ts';

/**
 * What is left out stays. A new password of somebody else is one to be changed at the next login, unless the body
 * says otherwise; the own one needs the present one.
 */
export const updateUser = defineVerb({
  permission: 'update:users',
  input: z.object({
    id: reference,
    body: z.strictObject({
      id: z.string().optional(),
      username: z.string().optional(),
      password: z.string().optional(),
      currentPassword: z.string().optional().describe('Of whoever calls, to change their own password.'),
      ...person,
      roles: roles.optional(),
      teams,
      disabled: z.boolean().optional(),
      kind: z.enum(['person', 'machine']).optional(),
      forcePasswordChange: z.boolean().optional(),
    }),
  }),
  async run({ house, actor, origin }, { id, body }): Promise<UserFacts> {
    const user = await house.users.get(id);
    for (const key of ['id', 'username', 'kind'] as const)
      if (body[key] !== undefined && body[key] !== user[key])
        throw invalidField(key, 'cannot be changed; make another user');
    const { password } = body;
    const isOwn = user.id === actor.id;
    if (isOwn && password !== undefined)
      await house.users.proveOwn(actor, body.currentPassword, origin.address);
    return house.users.update(user.id, {
      password,
      email: kept(body.email),
      first: kept(body.first),
      last: kept(body.last),
      role: body.roles && strongest(body.roles),
      disabled: body.disabled,
      mustChangePassword: body.forcePasswordChange,
    });
  },
});
