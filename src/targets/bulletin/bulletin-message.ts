import * as z from 'zod';
import { type HeadgateEvent, SEVERITIES } from '../../events/event.ts';
import { standaloneText } from '../../events/facts.ts';
import { systemFieldLines } from '../../events/system-fields.ts';
import { templateText } from '../../expressions/schema.ts';
import { renderTemplate, type Template } from '../../expressions/template.ts';
import { withAliases } from '../../lib/aliases.ts';
import { truncateToBytes } from '../../lib/text.ts';
import { templateSetting } from '../declarations.ts';
import { commonSettings, defineTarget, type TemplateWarnings } from '../target.ts';
import { createTemplateReporter } from '../template-warnings.ts';

/** The text of the event. */
const DEFAULT_MESSAGE = '${_raw}';

const schema = withAliases(
  z.strictObject({
    ...commonSettings,
    type: z.literal('bulletin_message').describe('Kind of target.'),
    message: templateText
      .prefault(DEFAULT_MESSAGE)
      .describe(
        'Text of the message; a field of the event stands as `${field}`. As long as it is `${_raw}`, the facts of the event stand below.',
      )
      .meta({ aliases: ['text'], template: true }),
    title: z.string().min(1).max(255).default('Notification').describe('Heading of the message.'),
    severity: z
      .enum(SEVERITIES)
      .optional()
      .describe(
        "Severity of the message while an incident is open, where the event has no `__severity`; without it the notification's.",
      ),
  }),
);

/** Sets heading, text and severity of the notification's row in the bulletin, which is written with the transition itself. */
export const bulletinMessage = defineTarget({
  type: 'bulletin_message',
  description: 'Shows events as messages in the product.',
  schema,
  templates: [templateSetting({ path: ['message'], fields: 'whole-event' })],
  references: [],
  needsRecipients: false,
  isRecord: true,
  usesProcessIdentity: () => undefined,
  files: [],
  showsRepeats: () => false,
  concurrency: () => 1,
  send: async () => ({ kind: 'sent' }),
  preview: (_, settings, { whole, warn = () => {}, ...known }) => ({
    ...{ kind: 'text', title: settings.title },
    text: messageText(whole, settings, { warn, ...known }),
  }),
  bulletinText: (event, settings, warnings) => messageText(event, settings, warnings),
  bulletinTitle: settings => settings.title,
  bulletinSeverity: settings => settings.severity,
});

function messageText(
  event: HeadgateEvent,
  settings: { readonly message: Template },
  warnings: TemplateWarnings,
): string {
  return [textOf(event, settings, warnings), ...systemFieldLines(event)].join('\n');
}

/** The same as the limit of a template's output. */
const MAX_BYTES = 64 * 1024;

/** Falls back to the event's own text where the message fails or is empty: an empty line alerts nobody. */
function textOf(
  event: HeadgateEvent,
  settings: { readonly message: Template },
  { warn, knownFields }: TemplateWarnings,
): string {
  const { text: template } = settings.message;
  if (template === DEFAULT_MESSAGE && event._raw.trim() !== '')
    return truncateToBytes(standaloneText(event), MAX_BYTES);
  const { text, failure, missing } = renderTemplate(settings.message, event);
  createTemplateReporter(settings, warn, knownFields)('message', { failure: undefined, missing });
  if (failure === undefined && /\S/u.test(text)) return text;
  warn(`message: ${failure ?? 'it gives an empty text'}; the text of the event is shown`);
  return truncateToBytes(standaloneText(event), MAX_BYTES);
}
