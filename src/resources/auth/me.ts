import * as z from 'zod';
import { grantsOf } from '../../auth/permissions.ts';
import { defineVerb } from '../verb.ts';

/** Whoever calls, as the store knows them at this moment, and what they may do. */
export const getMe = defineVerb({
  permission: 'any actor',
  isOpenBeforePasswordChange: true,
  input: z.object({}),
  run: ({ actor }) => ({ actor, permissions: [...grantsOf(actor)].sort() }),
});
