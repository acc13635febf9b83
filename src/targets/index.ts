import { bulletinMessage } from './bulletin/bulletin-message.ts';
import { notificationsLog } from './log/notifications-log.ts';
import { pagerDuty } from './pager-duty/pager-duty.ts';
import { defaultTarget, router } from './router/router.ts';
import { slack } from './slack/slack.ts';
import { smtp } from './smtp/smtp.ts';
import { sns } from './sns/sns.ts';
import type { TargetType } from './target.ts';
import { webhook } from './webhook/webhook.ts';

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
