import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
import * as z from 'zod';
import type { HeadgateEvent } from '../../events/event.ts';
import { FACT_FIELDS } from '../../events/facts.ts';
import { SYSTEM_FIELDS } from '../../events/system-fields.ts';
import { codeOf } from '../../lib/errors.ts';
import { createLru } from '../../lib/lru.ts';
import { createMutex, type Mutex } from '../../lib/mutex.ts';
import { wellFormedJson } from '../../lib/text.ts';
import { commonSettings, defineTarget } from '../target.ts';

const FILE_NAME = 'notifications.log';
const LOGGING_OFF = 'logging off';
/** The same as Cribl's log: 5 MB a file, five files. */
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
  templates: [],
  references: [],
  needsRecipients: false,
  isRecord: true,
  usesProcessIdentity: () => undefined,
  // Its schema only accepts folders below the log folder.
  files: [{ path: ['logsDir'], isConfined: true }],
  showsRepeats: () => false,
  concurrency: () => 1,
  skipReason: (_, { logNotifications }) => (logNotifications ? undefined : LOGGING_OFF),
  async send(events, settings, context) {
    // Only a test reaches this.
    if (!settings.logNotifications) return { kind: 'refused', reason: LOGGING_OFF, isAboutMessage: true };
    const path = join(context.logFolder, settings.logsDir, FILE_NAME);
    try {
      const { logFolder, sender } = context;
      if (sender?.mostLogFolders !== undefined) await makeRoom(logFolder, path, sender.mostLogFolders);
      await appendLines(path, events.map(line).join(''), ROTATION);
      return { kind: 'sent' };
    } catch (error) {
      if (codeOf(error) === '') throw error;
      const remedy = 'is there space left, and may this process write there?';
      return { kind: 'retry', reason: `${path} cannot be written (${codeOf(error)}): ${remedy}` };
    }
  },
  preview: (events, { logsDir }) => ({
    kind: 'text',
    title: join(logsDir, FILE_NAME),
    text: events.map(line).join(''),
  }),
});

function line(event: HeadgateEvent): string {
  const others = ['incidentId', 'incidentUrl', ...FACT_FIELDS, ...SYSTEM_FIELDS];
  const attached = others.flatMap(field => (field in event ? [[field, event[field]]] : []));
  return `${wellFormedJson({
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

/** By log folder, so that two deliveries do not make room at once. */
const roomMakers = createLru<string, Mutex>(1000);

/** Removes logs of the folders that were written longest ago, until there is room for one more. */
async function makeRoom(logFolder: string, path: string, most: number): Promise<void> {
  const mutex = roomMakers.get(logFolder) ?? createMutex();
  roomMakers.set(logFolder, mutex);
  await mutex.run(async () => {
    if ((await sizeOf(path)) > 0) return;
    const entries = await readdir(logFolder, { recursive: true, withFileTypes: true }).catch(() => []);
    const logs = entries.filter(entry => entry.isFile() && entry.name === FILE_NAME);
    const dated = await Promise.all(
      logs.map(async ({ parentPath }) => ({
        folder: parentPath,
        at: (await stat(join(parentPath, FILE_NAME))).mtimeMs,
      })),
    );
    const oldest = dated.sort((one, other) => one.at - other.at);
    for (const { folder } of oldest.slice(0, Math.max(0, oldest.length - most + 1)))
      await removeLogs(folder, logFolder);
  });
}

/** Removes the logs of a folder, and it and those around it where they are empty then. */
async function removeLogs(folder: string, logFolder: string): Promise<void> {
  for (let number = 0; number < ROTATION.maxFiles; number++)
    await rm(join(folder, number === 0 ? FILE_NAME : `${FILE_NAME}.${number}`), { force: true });
  try {
    for (let emptied = folder; relative(logFolder, emptied) !== ''; emptied = dirname(emptied))
      await rmdir(emptied);
  } catch (error) {
    if (codeOf(error) !== 'ENOTEMPTY') throw error;
  }
}

/** Renames a file that would grow over `maxBytes` to `<name>.1`, that to `.2`; `maxFiles` counts them all. */
export interface Rotation {
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/** By path, because several targets may write the same file. Forgotten when no write is left. */
const writers = new Map<string, Mutex>();

/** Appends whole lines; a failed write leaves no part of them behind. Rejects with the file system's error. */
export function appendLines(path: string, lines: string, rotation: Rotation): Promise<void> {
  const writer = writers.get(path) ?? createMutex();
  writers.set(path, writer);
  const written = writer.run(() => append(path, lines, rotation));
  void writer.idle().then(() => {
    if (writer.isFree() && writers.get(path) === writer) writers.delete(path);
  });
  return written;
}

async function append(path: string, lines: string, rotation: Rotation): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const bytes = Buffer.from(lines, 'utf8');
  const currentSize = await sizeOf(path);
  if (currentSize > 0 && currentSize + bytes.length > rotation.maxBytes)
    await rotate(path, rotation.maxFiles);
  const file = await open(path, 'a+', 0o640);
  try {
    await writeWhole(file, bytes);
  } finally {
    await file.close();
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 0;
    throw error;
  }
}

async function rotate(path: string, maxFiles: number): Promise<void> {
  const name = (number: number): string => (number === 0 ? path : `${path}.${number}`);
  for (let number = maxFiles - 1; number > 0; number--) {
    try {
      await rename(name(number - 1), name(number));
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
}

/** Closes off a line that a crash or a full disk left without its end. */
async function writeWhole(file: FileHandle, bytes: Buffer): Promise<void> {
  const { size } = await file.stat();
  const isTorn = size > 0 && (await lastByte(file, size)) !== NEWLINE;
  try {
    await file.appendFile(isTorn ? Buffer.concat([Buffer.of(NEWLINE), bytes]) : bytes);
  } catch (error) {
    await file.truncate(size).catch(() => {});
    throw error;
  }
}

const NEWLINE = 0x0a;

async function lastByte(file: FileHandle, size: number): Promise<number | undefined> {
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0];
}
