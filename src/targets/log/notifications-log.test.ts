import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { anyEvent } from '../../../test/helpers/any-event.ts';
import { noDial } from '../../../test/helpers/no-http.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { systemClock } from '../../lib/clock.ts';
import type { HttpClient } from '../../lib/http/client.ts';
import { wellFormedJson } from '../../lib/text.ts';
import type { Outcome } from '../outcome.ts';
import type { SendContext } from '../target.ts';
import { appendLines, notificationsLog } from './notifications-log.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-log-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const event: HeadgateEvent = {
  id: 'e1',
  status: 'ALARM',
  condition: 'no-data',
  cribl_notification: 'app_silent',
  incidentId: 'i1',
  severity: 'warn',
  _raw: 'no data\nfor "60s"',
  _time: 1_706_747_300,
  starttime: 1_706_747_240,
  endtime: 1_706_747_300,
  cribl_host: 'headgate',
  incidentUrl: 'https://headgate.example/#/incidents/i1',
  host: 'edge-1:9598',
  bytes: 0,
};

const http: HttpClient = {
  request: () => Promise.reject(new Error('a log needs no network')),
  close: async () => {},
};

const contextOf = (logFolder: string): SendContext => ({
  deliveryId: 'd1',
  http,
  dial: noDial,
  secretOf: () => undefined,
  clock: systemClock,
  signal: new AbortController().signal,
  logFolder,
});

const send = (settings: Readonly<Record<string, unknown>> = {}, events = [event]): Promise<Outcome> =>
  notificationsLog
    .configure({ id: 'log', type: 'notifications_log', ...settings })
    .send(events, contextOf(folder));

const lines = (...path: string[]): unknown[] =>
  readFileSync(join(folder, ...path), 'utf8')
    .split('\n')
    .filter(text => text !== '')
    .map(text => JSON.parse(text));

const written = {
  time: '2024-02-01T00:27:20.000Z',
  channel: 'app_silent',
  message: 'no data\nfor "60s"',
  _time: 1_706_747_300,
  id: 'e1',
  status: 'ALARM',
  severity: 'warn',
  incidentId: 'i1',
  incidentUrl: 'https://headgate.example/#/incidents/i1',
  host: 'edge-1:9598',
  cribl_host: 'headgate',
};

test('each event becomes a line with its system fields, before the outcome is returned', async () => {
  expect(await send({}, [event, { ...event, id: 'e2' }])).toEqual({ kind: 'sent' });
  expect(await send()).toEqual({ kind: 'sent' });
  expect(lines('notifications.log')).toEqual([written, { ...written, id: 'e2' }, written]);
});

test('logsDir is made below the log folder', async () => {
  expect(await send({ logsDir: 'ops/alerts' })).toEqual({ kind: 'sent' });
  expect(lines('ops', 'alerts', 'notifications.log')).toEqual([written]);
});

test('logNotifications false settles as skipped, and a test reports it, without writing', async () => {
  const settings = { id: 'log', type: 'notifications_log' };
  const silent = notificationsLog.configure({ ...settings, logNotifications: false });
  expect(silent.skipReason?.(event)).toBe('logging off');
  expect(notificationsLog.configure(settings).skipReason?.(event)).toBeUndefined();
  expect(await send({ logNotifications: false })).toMatchObject({ kind: 'refused', reason: 'logging off' });
  expect(readdirSync(folder)).toEqual([]);
});

test.each(['/var/log', '..', 'a/../..', '../a', 'a\\..\\b', 'a\0b'])('logsDir %j is refused', logsDir => {
  const result = notificationsLog.schema.safeParse({ id: 'log', type: 'notifications_log', logsDir });
  expect(result.error?.issues).toEqual([
    expect.objectContaining({ path: ['logsDir'], message: expect.stringContaining('relative') }),
  ]);
});

test('a full disk and a folder that is a file are tried again, naming the file', async () => {
  symlinkSync('/dev/full', join(folder, 'notifications.log'));
  expect(await send()).toEqual({
    kind: 'retry',
    reason: expect.stringContaining(`${join(folder, 'notifications.log')} cannot be written (ENOSPC)`),
  });
  writeFileSync(join(folder, 'taken'), '');
  expect(await send({ logsDir: 'taken/deep' })).toEqual({
    kind: 'retry',
    reason: expect.stringContaining(join(folder, 'taken', 'deep', 'notifications.log')),
  });
});

test('the file is rotated before it grows over 5 MB', async () => {
  const size = 5 * 1024 * 1024;
  writeFileSync(join(folder, 'notifications.log'), `${'x'.repeat(size - 11)}\n`);
  await send();
  expect(lines('notifications.log')).toEqual([written]);
  expect(statSync(join(folder, 'notifications.log.1')).size).toBe(size - 10);
});

test('five files are kept at most, and every writer of a path waits for the one before', async () => {
  const path = join(folder, 'deep', 'x.log');
  const rotation = { maxBytes: 20, maxFiles: 5 };
  const numbers = Array.from({ length: 30 }, (_, index) => String(index).padStart(9, '0'));
  await Promise.all(numbers.map(number => appendLines(path, `${number}\n`, rotation)));
  const names = readdirSync(join(folder, 'deep')).sort();
  expect(names).toEqual(['x.log', 'x.log.1', 'x.log.2', 'x.log.3', 'x.log.4']);
  const kept = names.reverse().map(name => readFileSync(join(folder, 'deep', name), 'utf8'));
  expect(kept.join('')).toBe(
    numbers
      .slice(20)
      .map(number => `${number}\n`)
      .join(''),
  );
});

test('a failed writer does not stop the next one', async () => {
  const path = join(folder, 'x.log');
  mkdirSync(path);
  const rotation = { maxBytes: 1_000_000, maxFiles: 2 };
  const failed = appendLines(path, 'one\n', rotation);
  const next = failed.catch(() => {
    rmSync(path, { recursive: true });
    return appendLines(path, 'two\n', rotation);
  });
  await expect(failed).rejects.toMatchObject({ code: 'EISDIR' });
  await next;
  expect(readFileSync(path, 'utf8')).toBe('two\n');
});

test('a line torn by a crash is closed off, so that the next stands alone', async () => {
  writeFileSync(join(folder, 'notifications.log'), '{"time":"2024-');
  await send();
  expect(readFileSync(join(folder, 'notifications.log'), 'utf8').split('\n')).toEqual([
    '{"time":"2024-',
    JSON.stringify(written),
    '',
  ]);
});

test('any event is one line of JSON', async () => {
  const path = join(folder, 'notifications.log');
  const property = fc.asyncProperty(anyEvent, async one => {
    const readable: unknown = JSON.parse(wellFormedJson(one._raw));
    rmSync(path, { force: true });
    expect(await send({}, [one, one])).toEqual({ kind: 'sent' });
    const lines = readFileSync(path, 'utf8').split('\n');
    expect(lines.pop()).toBe('');
    expect(lines.map(line => JSON.parse(line))).toMatchObject([
      { id: one.id, message: readable },
      { id: one.id, message: readable },
    ]);
  });
  await fc.assert(property, { numRuns: 60 });
});

describe('where only so many folders may hold logs', () => {
  const written = async (logsDir: string, at: number): Promise<void> => {
    const target = notificationsLog.configure({ id: 'log', type: 'notifications_log', logsDir });
    const sender = { hostname: 'here', isProcess: false, mostLogFolders: 2 };
    await target.send([event], { ...contextOf(folder), sender });
    utimesSync(join(folder, logsDir, 'notifications.log'), at, at);
  };
  const present = (): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(path => path.endsWith('notifications.log'))
      .sort();

  test('a new one takes the place of the one that was written longest ago, with its older files', async () => {
    await written('a', 100);
    writeFileSync(join(folder, 'a', 'notifications.log.1'), 'older\n');
    await written('deep/b', 200);
    await written('a', 300);
    expect(present()).toEqual(['a/notifications.log', 'deep/b/notifications.log']);
    await written('c', 400);
    expect(present()).toEqual(['a/notifications.log', 'c/notifications.log']);
    await written('d', 500);
    expect(present()).toEqual(['c/notifications.log', 'd/notifications.log']);
    expect(readdirSync(folder).sort()).toEqual(['c', 'd']);
  });
});
