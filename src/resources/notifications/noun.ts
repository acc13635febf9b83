import * as z from 'zod';
import { findCondition } from '../../conditions/index.ts';
import { type PlainMap, plainCopy } from '../../config/plain.ts';
import type { Schema } from '../../config/schema-walk.ts';
import { notificationSchema } from '../../notifications/notification.ts';
import type { Noun } from '../config/noun.ts';

export const notificationNoun: Noun = {
  name: 'notification',
  section: 'notifications',
  fixed: ['id'],
  grouped: true,
  find(now, id) {
    const found = now.notifications.find(one => one.id === id);
    return found && { inFile: now.raw.notifications.get(id), inForce: plainCopy(found.settings) };
  },
  schema: schemaOf,
};

/** The schema of a notification with that of its condition's conf inside. */
function schemaOf({ condition: id }: PlainMap): Schema {
  const condition = typeof id === 'string' ? findCondition(id) : undefined;
  if (condition === undefined) return notificationSchema;
  return notificationSchema.extend({ conf: z.optional(condition.schema) });
}
