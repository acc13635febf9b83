import * as z from 'zod';
import { listedFrom, pageQuery } from '../paging.ts';
import { defineVerb } from '../verb.ts';

/** Effective settings, as a file would say them. */
export const listNotifications = defineVerb({
  permission: 'read:notifications',
  input: z.object(pageQuery),
  run({ house, group }, query) {
    const all = house.configuration().notifications;
    const wanted = group === undefined ? all : all.filter(notification => notification.group === group);
    const page = listedFrom(query, wanted);
    return { ...page, items: page.items.map(({ settings }) => settings) };
  },
});
