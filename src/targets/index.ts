import { bulletinMessage } from './bulletin-message.ts';
import { defaultTarget } from './default.ts';
import { notificationsLog } from './notifications-log.ts';
import { pagerDuty } from './pager-duty.ts';
import { router } from './router.ts';
import { slack } from './slack.ts';
import { smtp } from './smtp.ts';
import { sns } from './sns.ts';
import type { TargetType } from './target.ts';
import { webhook } from './webhook.ts';

/** Every type of target there is. */
export const targetTypes: readonly TargetType[] = [
  webhook,
  slack,
  pagerDuty,
  sns,
  smtp,
  router,
  bulletinMessage,
  notificationsLog,
  defaultTarget,
];

export const findTargetType = (type: string): TargetType | undefined =>
  targetTypes.find(one => one.type === type);
