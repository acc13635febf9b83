import * as z from 'zod';
import { grantsOf } from '../auth/actor.ts';
import { permissionsOf, RESOURCES, ROLES } from '../auth/permissions.ts';
import { listPageOf, pageQuery } from './paging.ts';
import { defineVerb } from './verb.ts';

/** The caller, as the store knows them at this moment, with their permissions. */
export const getMe = defineVerb({
  permission: 'any actor',
  isOpenBeforePasswordChange: true,
  input: z.object({}),
  run: ({ actor }) => ({ actor, permissions: [...grantsOf(actor)].sort() }),
});

/** Ends the token that was shown and no other, but for a token of a browser's session, with which that ends. */
export const logOut = defineVerb({
  permission: 'any actor',
  isOpenBeforePasswordChange: true,
  input: z.object({}),
  async run({ context, actor }): Promise<{ readonly success: true }> {
    await context.users.logout(actor);
    return { success: true };
  },
});

/** The names of the caller's roles. */
export const listOwnRoles = defineVerb({
  permission: 'any actor',
  input: z.object(pageQuery),
  run: ({ actor }, query) => listPageOf(query, [actor.role]),
});

/** The caller's permissions by kind of resource; kinds without any are omitted. */
export const listPolicy = defineVerb({
  permission: 'any actor',
  input: z.object(pageQuery),
  run({ actor }, query) {
    const granted = grantsOf(actor);
    const rules = RESOURCES.map(object => ({
      object,
      actions: (['read', 'update'] as const).filter(action => granted.has(`${action}:${object}`)),
    }));
    return listPageOf(
      query,
      rules.filter(({ actions }) => actions.length > 0),
    );
  },
});

/** Every role with what it may do, the strongest first. */
export const listRoles = defineVerb({
  permission: 'read:users',
  input: z.object(pageQuery),
  run: (_call, query) =>
    listPageOf(
      query,
      ROLES.map(id => ({ id, permissions: [...permissionsOf(id)].sort() })),
    ),
});
