import { type Notification, notificationSchema } from '../../notifications/notification.ts';
import type { Shape } from '../shape.ts';

/** A notification is answered as a file would say it, every default included. */
export const notificationShape: Shape = {
  name: 'Notification',
  sentAs: 'NotificationSettings',
  schema: notificationSchema,
};

export const wireNotification = (settings: Notification['settings']): object => settings;
