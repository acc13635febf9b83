import * as z from 'zod';
import type { Configuration } from '../../config/load.ts';
import { notFound } from '../../lib/errors.ts';
import { defineVerb } from '../verb.ts';

export function settingsOf({ notifications }: Configuration, id: string, group?: string) {
  const found = notifications.find(one => one.id === id);
  if (found === undefined || (group !== undefined && found.group !== group))
    throw notFound('notification', id);
  return found.settings;
}

export const getNotification = defineVerb({
  permission: 'read:notifications',
  input: z.object({ id: z.string().max(512) }),
  run: ({ house, group }, { id }) => settingsOf(house.configuration(), id, group),
});
