import { snsSettings } from './sns-settings.ts';
import { defineUnsentTarget } from './target.ts';

/** Publishes events to a topic of Amazon SNS, or to phones as short messages. */
export const sns = defineUnsentTarget({
  type: 'sns',
  description: 'Publishes events to an Amazon SNS topic or to phones.',
  neverGroups: settings => settings.topicType === 'fifo',
  schema: snsSettings,
});
