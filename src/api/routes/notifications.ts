import { etagOf } from '../../resources/etag.ts';
import { createNotification } from '../../resources/notifications/create.ts';
import { getNotification } from '../../resources/notifications/get.ts';
import { listNotifications } from '../../resources/notifications/list.ts';
import { removeNotification } from '../../resources/notifications/remove.ts';
import { updateNotification } from '../../resources/notifications/update.ts';
import { item, list } from '../envelope.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';
import { notificationShape, wireNotification } from '../wire/notification.ts';

const PATH = '/notifications';
const one = {
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
    ...one,
    id: 'notifications.create',
    method: 'POST',
    path: PATH,
    summary: 'Add a notification',
    verb: createNotification,
    takes: { shape: notificationShape },
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
    ...one,
    id: 'notifications.get',
    method: 'GET',
    summary: 'Get a notification',
    verb: getNotification,
    example: { params: { id: 'app_silent' } },
  }),
  route({
    ...one,
    id: 'notifications.update',
    method: 'PATCH',
    summary: 'Change a notification; another condition or conf closes its open incidents',
    verb: updateNotification,
    takes: { shape: notificationShape, kind: 'part' },
    errors: WRITE_ERRORS,
    example: { params: { id: 'shop_silent' }, body: { severity: 'error', repeatInterval: '1h' } },
  }),
  route({
    ...one,
    id: 'notifications.remove',
    method: 'DELETE',
    summary: 'Remove a notification and close its open incidents',
    verb: removeNotification,
    errors: WRITE_ERRORS,
    example: { params: { id: 'shop_silent' } },
  }),
];
