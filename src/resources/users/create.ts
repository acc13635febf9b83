import * as z from 'zod';
import { defineVerb } from '../verb.ts';
import { kept, person, roles, strongest, teams, userId } from './noun.ts';

export const createUser = defineVerb({
  permission: 'update:users',
  input: z.object({
    body: z.strictObject({
      id: userId.optional().describe('Left out, one is made.'),
      username: z.string().describe('Trimmed and in lower case; at most 254 characters.'),
      password: z.string().describe('15 to 256 characters, none of the common ones, without the user name.'),
      ...person,
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
  run: ({ house }, { body }) =>
    house.users.create({
      id: body.id,
      username: body.username,
      password: body.password,
      email: kept(body.email),
      first: kept(body.first),
      last: kept(body.last),
      role: strongest(body.roles),
      disabled: body.disabled,
      kind: body.kind,
      mustChangePassword: body.forcePasswordChange,
    }),
});
