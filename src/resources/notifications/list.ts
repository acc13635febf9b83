import * as z from 'zod';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';

/** Effective settings, as a file would say them. */
export const listNotifications = defineVerb({
  permission: 'read:notifications',
  input: z.object(pageQuery),
  run: ({ house }, query) =>
    listedFrom(
      query,
      house.configuration().notifications.map(notification => notification.settings),
    ),
});
