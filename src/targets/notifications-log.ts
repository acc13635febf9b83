import { isAbsolute, join } from 'node:path';
import * as z from 'zod';
import type { HeadgateEvent } from '../events/event.ts';
import { SYSTEM_FIELDS } from '../events/system-fields.ts';
import { codeOf } from '../lib/errors.ts';
import { appendLines, type Rotation } from './log-file.ts';
import { commonSettings } from './settings.ts';
import { defineTarget } from './target.ts';

const FILE_NAME = 'notifications.log';
const LOGGING_OFF = 'logging off';
/** As the family's log: 5 MB a file, five files. */
const ROTATION: Rotation = { maxBytes: 5 * 1024 * 1024, maxFiles: 5 };

const folderBelow = z
  .string()
  .max(1024)
  .refine(text => !isAbsolute(text) && !text.split(/[\\/]/).includes('..') && !/\p{Cc}/u.test(text), {
    error: 'must be a relative path below the log folder, without ".." and control characters',
  });

const schema = z.strictObject({
  ...commonSettings,
  type: z.literal('notifications_log').describe('Kind of target.'),
  logNotifications: z
    .boolean()
    .default(true)
    .describe('false: nothing is written; deliveries are skipped as logging off.'),
  logsDir: folderBelow.default('').describe('Folder of the file, below the log folder.'),
});

/** Appends a JSON line per event to a file of this machine. */
export const notificationsLog = defineTarget({
  type: 'notifications_log',
  description: `Writes events to ${FILE_NAME}.`,
  schema,
  concurrency: () => 1,
  skipsBecause: (_, { logNotifications }) => (logNotifications ? undefined : LOGGING_OFF),
  async send(events, settings, context) {
    // Nothing but a test comes here then.
    if (!settings.logNotifications) return { kind: 'refused', reason: LOGGING_OFF, isAboutMessage: true };
    const path = join(context.logFolder, settings.logsDir, FILE_NAME);
    try {
      await appendLines(path, events.map(line).join(''), ROTATION);
      return { kind: 'sent' };
    } catch (error) {
      if (codeOf(error) === '') throw error;
      const remedy = 'is there space left, and may this process write there?';
      return { kind: 'retry', reason: `${path} cannot be written (${codeOf(error)}): ${remedy}` };
    }
  },
});

function line(event: HeadgateEvent): string {
  const attached = SYSTEM_FIELDS.flatMap(field => (field in event ? [[field, event[field]]] : []));
  return `${JSON.stringify({
    time: new Date(event.starttime * 1000).toISOString(),
    channel: event.cribl_notification,
    message: event._raw,
    _time: event._time,
    id: event.id,
    status: event.status,
    severity: event.severity,
    ...Object.fromEntries(attached),
  })}\n`;
}
