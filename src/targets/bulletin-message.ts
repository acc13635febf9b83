import * as z from 'zod';
import { compileTemplate, render, type Template } from '../expressions/template.ts';
import { reasonOf } from '../lib/errors.ts';
import { commonSettings } from './settings.ts';
import { defineTarget } from './target.ts';

const MAX_TEXT = 64 * 1024;

const template = z
  .string()
  .max(MAX_TEXT)
  .transform((text, context): Template => {
    try {
      return compileTemplate(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: reasonOf(error), input: text });
      return z.NEVER;
    }
  });

const schema = z.strictObject({
  ...commonSettings,
  type: z.literal('bulletin_message'),
  message: template
    .prefault('${_raw}')
    .describe('Text of the message; a field of the event stands as `${field}`.'),
});

/** Sets the text of the notification's row in the bulletin, which is written with the transition itself. */
export const bulletinMessage = defineTarget({
  type: 'bulletin_message',
  description: 'Shows events as messages in the product.',
  schema,
  concurrency: 1,
  send: async () => ({ kind: 'sent' }),
  bulletinText: (event, settings) => render(settings.message, event),
});
