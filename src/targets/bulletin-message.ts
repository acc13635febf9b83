import * as z from 'zod';
import { SEVERITIES } from '../events/event.ts';
import { systemFieldLines } from '../events/system-fields.ts';
import { render } from '../expressions/template.ts';
import { withAliases } from '../lib/aliases.ts';
import { commonSettings } from './settings.ts';
import { defineTarget } from './target.ts';
import { templateText } from './template-text.ts';

const schema = withAliases(
  z.strictObject({
    ...commonSettings,
    type: z.literal('bulletin_message').describe('Kind of target.'),
    message: templateText
      .prefault('${_raw}')
      .describe('Text of the message; a field of the event stands as `${field}`.')
      .meta({ aliases: ['text'], template: true }),
    title: z.string().min(1).max(255).default('Notification').describe('Heading of the message.'),
    severity: z
      .enum(SEVERITIES)
      .default('warn')
      .describe("Severity of the message where the event names none; today it is the event's.")
      .meta({ later: true }),
  }),
);

/** Sets heading and text of the notification's row in the bulletin, which is written with the transition itself. */
export const bulletinMessage = defineTarget({
  type: 'bulletin_message',
  description: 'Shows events as messages in the product.',
  schema,
  concurrency: () => 1,
  send: async () => ({ kind: 'sent' }),
  bulletinText: (event, settings) => [render(settings.message, event), ...systemFieldLines(event)].join('\n'),
  bulletinTitle: settings => settings.title,
});
