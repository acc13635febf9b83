import * as z from 'zod';
import { conditions, findCondition } from '../conditions/index.ts';
import type { Configuration } from '../config/configuration.ts';
import { type PlainMap, plainCopy } from '../config/plain.ts';
import type { Schema } from '../config/schema-walk.ts';
import { shownNotification } from '../config/secrets/shown.ts';
import { notFound } from '../lib/errors.ts';
import { inhibitionSchema } from '../notifications/inhibition/inhibition-rule.ts';
import { type Notification, notificationSchema } from '../notifications/notification.ts';
import type { WorkspaceContext } from './context.ts';
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
import { unmatchedPatternsOf } from './unmatched-patterns.ts';
import { defineVerb } from './verb.ts';

export const notificationResource: ResourceDefinition = {
  name: 'notification',
  section: 'notifications',
  fixed: ['id'],
  grouped: true,
  asWritten: ['conf', 'targetConfigs'],
  find(now, id) {
    const found = now.notifications.find(one => one.id === id);
    return (
      found && {
        inFile: now.raw.notifications.get(id),
        effective: plainCopy(shownNotification(now, found)),
      }
    );
  },
  schema: schemaOf,
};

/** The schema of a notification with that of its condition's conf inside. */
function schemaOf({ condition: id }: PlainMap): Schema {
  const condition = typeof id === 'string' ? findCondition(id) : undefined;
  if (condition === undefined) return notificationSchema;
  return notificationSchema.extend({ conf: z.optional(condition.schema) });
}

/** What lists say of a notification beside its settings. */
interface NotificationNotes {
  readonly warning?: string;
  readonly evaluation?: {
    /** Of one evaluation. */
    readonly milliseconds: number;
    /** True for the one of the workspace that takes most. */
    readonly isHeaviest: boolean;
    /** For how long not every notification of the workspace has been evaluated, as they take more than they may. */
    readonly lateMs?: number;
  };
}

/** Answers what is known of a notification; nothing for one of which there is nothing to say. */
function notesOf(context: WorkspaceContext): (notification: Notification) => NotificationNotes | undefined {
  const warningOf = unmatchedPatternsOf(context);
  const costs = context.evaluationCosts();
  const most = Math.max(0, ...(costs?.byNotification.values() ?? []));
  return notification => {
    const warning = warningOf(notification);
    const taken = costs?.byNotification.get(notification.id);
    const evaluation = taken !== undefined && {
      milliseconds: Math.round(taken * 10) / 10,
      isHeaviest: taken > 0 && taken === most,
      ...(costs?.lateMs !== undefined && { lateMs: Math.round(costs.lateMs) }),
    };
    if (warning === undefined && evaluation === false) return undefined;
    return { ...(warning !== undefined && { warning }), ...(evaluation !== false && { evaluation }) };
  };
}

/** With every default; those within `conf` and `targetConfigs` are not written unless they are asked for. */
const effectiveQuery = {
  effective: z
    .enum(['true', 'false'])
    .optional()
    .describe('`true` fills in the defaults within `conf` and `targetConfigs` as well.'),
};

export interface DescribedNotification {
  /** What is answered. */
  readonly settings: object;
  /** What the tag is made of, whatever is asked for. */
  readonly tagged: object;
}

/** Effective settings, as a file would say them. */
export const listNotifications = defineVerb({
  permission: 'read:notifications',
  input: z.object({ ...pageQuery, ...effectiveQuery }),
  run({ context, group }, { effective, ...query }) {
    const now = context.configuration();
    const all = now.notifications;
    const wanted = group === undefined ? all : all.filter(notification => notification.group === group);
    const page = listPageOf(query, wanted);
    const notes = notesOf(context);
    return {
      ...page,
      items: page.items.map((notification): DescribedNotification => {
        const headgate = notes(notification);
        const described = describe(now, notification, effective);
        if (headgate === undefined) return described;
        return { ...described, settings: { ...described.settings, headgate } };
      }),
    };
  },
});

function describe(now: Configuration, notification: Notification, effective?: string): DescribedNotification {
  const tagged = shownNotification(now, notification);
  return { settings: effective === 'true' ? notification.settings : tagged, tagged };
}

/** Throws `not-found`. */
function findNotification(
  now: Configuration,
  id: string,
  { group, effective }: { readonly group?: string | undefined; readonly effective?: string | undefined },
): DescribedNotification {
  const found = now.notifications.find(one => one.id === id);
  if (found === undefined || (group !== undefined && found.group !== group))
    throw notFound('notification', id);
  return describe(now, found, effective);
}

export const getNotification = defineVerb({
  permission: 'read:notifications',
  input: z.object({ id: z.string().max(512), ...effectiveQuery }),
  run: ({ context, group }, { id, effective }) =>
    findNotification(context.configuration(), id, { group, effective }),
});

export const createNotification = defineVerb({
  permission: 'update:notifications',
  input: z.object({ id: z.string().optional(), body: itemBody, ...effectiveQuery }),
  async run(call, { effective, ...input }) {
    const { configuration, id } = await createItem(call, notificationResource, input);
    return findNotification(configuration, id, { effective });
  },
});

/** An edit of condition or conf closes its open incidents; any other one changes later messages only. */
export const updateNotification = defineVerb({
  permission: 'update:notifications',
  input: itemUpdate.extend(effectiveQuery),
  run: async (call, { effective, ...input }) =>
    findNotification(await updateItem(call, notificationResource, input), input.id, { effective }),
});

/** Answers what it removed; its open incidents close. */
export const removeNotification = defineVerb({
  permission: 'update:notifications',
  input: itemRemoval,
  run: async (call, input) =>
    findNotification(await removeItem(call, notificationResource, input), input.id, {}),
});

const inhibitionResource: ResourceDefinition = {
  name: 'inhibition',
  section: 'inhibitions',
  fixed: ['id'],
  grouped: false,
  find(now, id) {
    const found = now.inhibitions.find(one => one.id === id);
    return found && { inFile: now.raw.inhibitions.get(id), effective: plainCopy(found.settings) };
  },
  schema: () => inhibitionSchema,
};

/** Throws `not-found`. */
function inhibitionSettings({ inhibitions }: Configuration, id: string) {
  const found = inhibitions.find(one => one.id === id);
  if (found === undefined) throw notFound('inhibition', id);
  return found.settings;
}

export const listInhibitions = defineVerb({
  permission: 'read:notifications',
  input: z.object(pageQuery),
  run: ({ context }, query) =>
    listPageOf(
      query,
      context.configuration().inhibitions.map(({ settings }) => settings),
    ),
});

export const getInhibition = defineVerb({
  permission: 'read:notifications',
  input: z.object({ id: z.string().max(512) }),
  run: ({ context }, { id }) => inhibitionSettings(context.configuration(), id),
});

export const createInhibition = defineVerb({
  permission: 'update:notifications',
  input: z.object({ id: z.string().optional(), body: itemBody }),
  async run(call, input) {
    const { configuration, id } = await createItem(call, inhibitionResource, input);
    return inhibitionSettings(configuration, id);
  },
});

/** What it holds back and would not by now is sent at once. */
export const updateInhibition = defineVerb({
  permission: 'update:notifications',
  input: itemUpdate,
  run: async (call, input) => inhibitionSettings(await updateItem(call, inhibitionResource, input), input.id),
});

/** Answers what it removed; what it held back is sent at once. */
export const removeInhibition = defineVerb({
  permission: 'update:notifications',
  input: itemRemoval,
  run: async (call, input) => inhibitionSettings(await removeItem(call, inhibitionResource, input), input.id),
});

/** What notifications can be about. */
export const listConditions = defineVerb({
  permission: 'read:notifications',
  input: z.object({ ...pageQuery, category: z.string().optional() }),
  run: (_call, query) =>
    listPageOf(
      query,
      conditions.filter(({ category }) => query.category === undefined || category === query.category),
    ),
});

export const getCondition = defineVerb({
  permission: 'read:notifications',
  input: z.object({ id: z.string().max(512) }),
  run(_call, { id }) {
    const condition = findCondition(id);
    if (condition === undefined) throw notFound('condition', id);
    return condition;
  },
});
