import { getCondition } from '../../resources/conditions/get.ts';
import { listConditions } from '../../resources/conditions/list.ts';
import { etagOf } from '../../resources/etag.ts';
import { createNotification } from '../../resources/notifications/create.ts';
import { getNotification } from '../../resources/notifications/get.ts';
import { listNotifications } from '../../resources/notifications/list.ts';
import { removeNotification } from '../../resources/notifications/remove.ts';
import { updateNotification } from '../../resources/notifications/update.ts';
import { asItIs, envelope, single } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { wireCondition } from '../wire/condition.ts';

const PATH = '/notifications';
const one = { path: `${PATH}/:id`, grouped: true, shape: single, etag: etagOf };

export const notificationRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: PATH,
    summary: 'List the notifications',
    grouped: true,
    verb: listNotifications,
    shape: page => envelope(page, asItIs),
  }),
  route({ ...one, method: 'POST', path: PATH, summary: 'Add a notification', verb: createNotification }),
  route({ ...one, method: 'GET', summary: 'Get a notification', verb: getNotification }),
  route({ ...one, method: 'PATCH', summary: 'Change a notification', verb: updateNotification }),
  route({ ...one, method: 'DELETE', summary: 'Remove a notification', verb: removeNotification }),
  route({
    method: 'GET',
    path: '/conditions',
    summary: 'List what notifications can wait for',
    grouped: true,
    verb: listConditions,
    shape: page => envelope(page, wireCondition),
  }),
  route({
    method: 'GET',
    path: '/conditions/:id',
    summary: 'Get a condition with the schema of its conf',
    grouped: true,
    verb: getCondition,
    shape: condition => single(wireCondition(condition)),
  }),
];
