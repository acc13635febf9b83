import * as z from 'zod';
import type { Configuration } from '../../config/load.ts';
import { notFound } from '../../lib/errors.ts';
import { defineVerb } from '../verb.ts';
import { describedTarget } from './described.ts';

export function settingsOf({ targets }: Configuration, id: string) {
  const found = targets.find(target => target.settings.id === id);
  if (found === undefined) throw notFound('target', id);
  return found.settings;
}

/** Effective settings; secrets serialise as masks. */
export const getTarget = defineVerb({
  permission: 'read:targets',
  input: z.object({ id: z.string().max(512) }),
  run: ({ house }, { id }) => describedTarget(house, settingsOf(house.configuration(), id)),
});
