import * as z from 'zod';
import { notFound } from '../../lib/errors.ts';
import { defineVerb } from '../verb.ts';

export const getNotification = defineVerb({
  permission: 'read:notifications',
  input: z.object({ id: z.string().max(512) }),
  run({ house }, { id }) {
    const notification = house.configuration().notifications.find(one => one.id === id);
    if (notification === undefined) throw notFound('notification', id);
    return notification.settings;
  },
});
