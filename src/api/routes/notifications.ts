import { getNotification } from '../../resources/notifications/get.ts';
import { listNotifications } from '../../resources/notifications/list.ts';
import { getTarget } from '../../resources/targets/get.ts';
import { listTargets } from '../../resources/targets/list.ts';
import { asItIs, envelope, single } from '../envelope.ts';
import { get, type Route } from '../route.ts';
import { wireTarget } from '../wire/target.ts';

export const notificationRoutes: readonly Route[] = [
  get('/notifications', 'List the notifications', listNotifications, page => envelope(page, asItIs)),
  get('/notifications/:id', 'Get a notification', getNotification, single),
  get('/notification-targets', 'List the targets', listTargets, page => envelope(page, wireTarget)),
  get('/notification-targets/:id', 'Get a target', getTarget, settings => single(wireTarget(settings))),
];
