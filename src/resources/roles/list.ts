import * as z from 'zod';
import { permissionsOf, ROLES } from '../../auth/permissions.ts';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';

/** Every role with what it may do, the strongest first. */
export const listRoles = defineVerb({
  permission: 'read:users',
  input: z.object(pageQuery),
  run: (_call, query) =>
    listedFrom(
      query,
      ROLES.map(id => ({ id, permissions: [...permissionsOf(id)].sort() })),
    ),
});
