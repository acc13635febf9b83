import { bulletinMessage } from './bulletin-message.ts';
import { notificationsLog } from './notifications-log.ts';
import type { TargetType } from './target.ts';
import { webhook } from './webhook.ts';

/** Every type of target there is. */
export const targetTypes: readonly TargetType[] = [webhook, bulletinMessage, notificationsLog];

export const findTargetType = (type: string): TargetType | undefined =>
  targetTypes.find(one => one.type === type);
