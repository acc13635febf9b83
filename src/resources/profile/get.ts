import * as z from 'zod';
import { reference } from '../users/noun.ts';
import { defineVerb } from '../verb.ts';
import { ownUser } from './own.ts';

export const getProfile = defineVerb({
  permission: 'any actor',
  isOpenBeforePasswordChange: true,
  input: z.object({ id: reference }),
  run: (call, { id }) => ownUser(call, id),
});
