import * as z from 'zod';
import { findCondition } from '../conditions/index.ts';
import type { Configuration } from '../config/configuration.ts';
import { type PlainMap, plainCopy } from '../config/plain.ts';
import type { Schema } from '../config/schema-walk.ts';
import { notFound } from '../lib/errors.ts';
import { notificationSchema } from '../notifications/notification.ts';
import {
  createItem,
  itemBody,
  itemRemoval,
  itemUpdate,
  type ResourceDefinition,
  removeItem,
  updateItem,
} from './item-writes.ts';
import { listPageOf, pageQuery } from './paging.ts';
import { unmatchedPattern } from './unmatched-patterns.ts';
import { defineVerb } from './verb.ts';

const notificationResource: ResourceDefinition = {
  name: 'notification',
  section: 'notifications',
  fixed: ['id'],
  grouped: true,
  find(now, id) {
    const found = now.notifications.find(one => one.id === id);
    return found && { inFile: now.raw.notifications.get(id), effective: plainCopy(found.settings) };
  },
  schema: schemaOf,
};

/** The schema of a notification with that of its condition's conf inside. */
function schemaOf({ condition: id }: PlainMap): Schema {
  const condition = typeof id === 'string' ? findCondition(id) : undefined;
  if (condition === undefined) return notificationSchema;
  return notificationSchema.extend({ conf: z.optional(condition.schema) });
}

/** Effective settings, as a file would say them. */
export const listNotifications = defineVerb({
  permission: 'read:notifications',
  input: z.object(pageQuery),
  run({ context, group }, query) {
    const all = context.configuration().notifications;
    const wanted = group === undefined ? all : all.filter(notification => notification.group === group);
    const page = listPageOf(query, wanted);
    return {
      ...page,
      items: page.items.map(notification => {
        const warning = unmatchedPattern(context, notification);
        return { ...notification.settings, ...(warning !== undefined && { headgate: { warning } }) };
      }),
    };
  },
});

function notificationSettings({ notifications }: Configuration, id: string, group?: string) {
  const found = notifications.find(one => one.id === id);
  if (found === undefined || (group !== undefined && found.group !== group))
    throw notFound('notification', id);
  return found.settings;
}

export const getNotification = defineVerb({
  permission: 'read:notifications',
  input: z.object({ id: z.string().max(512) }),
  run: ({ context, group }, { id }) => notificationSettings(context.configuration(), id, group),
});

export const createNotification = defineVerb({
  permission: 'update:notifications',
  input: z.object({ id: z.string().optional(), body: itemBody }),
  async run(call, input) {
    const { configuration, id } = await createItem(call, notificationResource, input);
    return notificationSettings(configuration, id);
  },
});

/** An edit of condition or conf closes its open incidents; any other one changes later messages only. */
export const updateNotification = defineVerb({
  permission: 'update:notifications',
  input: itemUpdate,
  run: async (call, input) =>
    notificationSettings(await updateItem(call, notificationResource, input), input.id),
});

/** Answers what it removed; its open incidents close. */
export const removeNotification = defineVerb({
  permission: 'update:notifications',
  input: itemRemoval,
  run: async (call, input) =>
    notificationSettings(await removeItem(call, notificationResource, input), input.id),
});
