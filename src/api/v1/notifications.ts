import * as z from 'zod';
import { type Notification, notificationSchema } from '../../notifications/notification.ts';
import { etagOf } from '../../resources/etag.ts';
import {
  createNotification,
  getNotification,
  listNotifications,
  removeNotification,
  updateNotification,
} from '../../resources/notifications.ts';
import { item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';

/** As in a file, with every default. */
const sentShape: Shape = {
  name: 'Notification',
  sentAs: 'NotificationSettings',
  schema: notificationSchema,
};

const notificationShape: Shape = {
  name: 'Notification',
  schema: notificationSchema.extend({
    headgate: z
      .object({ warning: z.string() })
      .optional()
      .describe('In lists: why it never alerts, where its pattern matches nothing that was seen.'),
  }),
};

const wireNotification = (settings: Notification['settings']): object => settings;

const PATH = '/notifications';
const notificationRoute = {
  path: `${PATH}/:id`,
  grouped: true,
  answer: item(notificationShape, wireNotification),
  etag: etagOf,
};

export const notificationRoutes: readonly Route[] = [
  route({
    id: 'notifications.list',
    method: 'GET',
    path: PATH,
    summary: 'List the notifications with every default',
    grouped: true,
    verb: listNotifications,
    answer: list(notificationShape, wireNotification),
  }),
  route({
    ...notificationRoute,
    id: 'notifications.create',
    method: 'POST',
    path: PATH,
    summary: 'Add a notification',
    verb: createNotification,
    takes: { shape: sentShape },
    errors: WRITE_ERRORS,
    example: {
      body: {
        id: 'shop_silent',
        condition: 'no-data',
        targets: ['log'],
        conf: { name: 'http:shop', timeWindow: '5m' },
      },
    },
  }),
  route({
    ...notificationRoute,
    id: 'notifications.get',
    method: 'GET',
    summary: 'Get a notification',
    verb: getNotification,
    example: { params: { id: 'app_silent' } },
  }),
  route({
    ...notificationRoute,
    id: 'notifications.update',
    method: 'PATCH',
    summary: 'Change a notification; another condition or conf closes its open incidents',
    verb: updateNotification,
    takes: { shape: sentShape, kind: 'part' },
    errors: WRITE_ERRORS,
    example: { params: { id: 'shop_silent' }, body: { severity: 'error', repeatInterval: '1h' } },
  }),
  route({
    ...notificationRoute,
    id: 'notifications.remove',
    method: 'DELETE',
    summary: 'Remove a notification and close its open incidents',
    verb: removeNotification,
    errors: WRITE_ERRORS,
    example: { params: { id: 'shop_silent' } },
  }),
];
