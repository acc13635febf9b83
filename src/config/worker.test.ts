import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { configFolder } from '../../test/helpers/config-folder.ts';
import { checkThread } from '../../test/helpers/held-configuration.ts';
import { AppError } from '../lib/errors.ts';
import { silentLogger } from '../lib/logger.ts';
import { createConfigurationHolder } from './holder.ts';
import { type Loaded, type LoadResult, loadConfiguration } from './load.ts';
import { findingList } from './problems.ts';
import type { Sources } from './read/configuration.ts';
import { checkedSettings, readSettings } from './read/settings.ts';
import { filesSource } from './source/files.ts';
import { loadWithWorker } from './worker.ts';
import type { WorkerJob } from './worker-job.ts';
import { readConfigDocument } from './yaml/document.ts';

const SETTINGS = `instance: { name: one }
pipelines: [{ id: a, engine: rsyslog, push: true, token: '\${secret:push}' }]
`;

/** Enough items for a thread of its own, or few. */
function notifications(count: number): string {
  const items = Array.from(
    { length: count },
    (_, index) =>
      `  - id: n_${index}\n    condition: no-data\n    targets: [hook, gone]\n    description: Number ${index} of many.\n    conf: { name: 'a:b', timeWindow: 30s }\n`,
  );
  return [
    'targets:',
    "  - { id: hook, type: webhook, url: 'http://h/', authType: token, token: '${secret:hook}' }",
    '  - { id: any, type: default, defaultId: hook }',
    'notifications:',
    items.join(''),
  ].join('\n');
}

const stored = new Map([
  ['hook', 'stored-hook'],
  ['push', 'stored-push'],
]);

function sourcesOf(count: number): Sources {
  const folder = configFolder({
    'headgate.yml': SETTINGS,
    'notifications.yml': notifications(count),
    'inputs.yml': 'inputs:\n  a: { type: syslog, port: 514 }\n',
  });
  return { folder, environment: {}, flags: { 'api.port': '9100' }, secretOf: name => stored.get(name) };
}

function loaded(result: LoadResult): Loaded {
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result;
}

const dataOf = ({ configuration, files, texts }: Loaded): object => {
  const { targets, notifications, raw, ...rest } = configuration;
  return {
    ...JSON.parse(JSON.stringify({ ...rest, files, texts })),
    targets: targets.map(({ settings }) => JSON.parse(JSON.stringify(settings))),
    tokens: targets.map(({ settings }) => Reflect.get(settings, 'token')?.reveal()),
    notifications: notifications.map(({ fingerprint, targets, forMs, settings }) =>
      JSON.parse(JSON.stringify({ fingerprint, targets, forMs, settings })),
    ),
    raw: [raw.settings, raw.targets, raw.notifications, raw.inputs, raw.outputs],
  };
};

describe.each([
  ['few', 3],
  ['many', 2500],
])('a configuration of %s items that is loaded apart', (_, count) => {
  it('is the one that is loaded at once', async () => {
    const sources = sourcesOf(count);
    const clock = testClock();
    const apart = loaded(await loadWithWorker(sources, clock, checkThread(clock)));
    expect(dataOf(apart)).toEqual(dataOf(loaded(loadConfiguration(sources, clock))));
    expect(apart.configuration.warnings).toHaveLength(Math.min(2 * count, 201));
    expect(Object.isFrozen(apart.configuration.notifications[0]?.settings)).toBe(true);
  });

  it('has the same errors', async () => {
    const { folder, ...rest } = sourcesOf(count);
    writeFileSync(join(folder, 'inputs.yml'), 'inputs: [{ id: a }]\noutputs: []\n');
    const sources = { ...rest, folder };
    const found = await loadWithWorker(sources, testClock(), checkThread(testClock()));
    expect(found).toMatchObject({ ok: false });
    expect({ ...found, refusals: findingList() }).toEqual(loadConfiguration(sources, testClock()));
  });

  it('can be changed, and refuses what is wrong by its path in the item', async () => {
    const clock = testClock();
    const source = filesSource({ ...sourcesOf(count), clock });
    const holder = createConfigurationHolder({
      source,
      thread: checkThread(clock),
      clock,
      logger: silentLogger,
    });
    onTestFinished(holder.stop);
    holder.load();
    const save = (value: object) =>
      holder.save({ author: 'a', source: 'api', edits: [{ section: 'targets', id: 'new', value }] });
    await expect(save({ id: 'new', type: 'webhook', url: 'nowhere' })).rejects.toMatchObject({
      code: 'invalid-request',
      problems: [{ path: 'url' }],
    });
    const { targets, notifications } = await save({ id: 'new', type: 'bulletin_message' });
    expect(targets.map(({ settings }) => settings.id)).toEqual(['hook', 'any', 'new']);
    expect(notifications).toHaveLength(count);
  });

  it('takes its own texts back, secrets masked, and stores those that come in clear', async () => {
    const clock = testClock();
    const put: string[] = [];
    const source = filesSource({ ...sourcesOf(count), clock });
    const holder = createConfigurationHolder({
      ...{ source, thread: checkThread(clock), clock, logger: silentLogger },
      secrets: {
        get: () => undefined,
        put: async (name, value) => {
          put.push(`${name} ${value}`);
          return { name, createdAt: 0, updatedAt: 0, updatedBy: 'a' };
        },
        remove: async () => undefined,
      },
    });
    onTestFinished(holder.stop);
    holder.load();
    const text = holder.texts()['notifications.yml'] ?? '';
    const clear =
      '\n  - { id: new, type: webhook, url: "http://h/", authType: token, token: in-clear-text }\n';
    const texts = { 'notifications.yml': text.replace('\n  - { id: any', `${clear}  - { id: any`) };
    const { targets, raw } = await holder.save({
      author: 'a',
      source: 'api',
      sent: { texts, mayRefer: true },
    });
    expect(targets).toHaveLength(3);
    expect(put).toEqual(['target_new_token in-clear-text']);
    expect(raw.targets.get('hook')?.token).toBe('${secret:hook}');
    expect(raw.targets.get('new')?.token).toBe('${secret:target_new_token}');
  });
});

it('takes over pipelines that were checked one at a time, as they are read at once', () => {
  const pipelines = Array.from({ length: 50 }, (_, index) => ({
    ...{ id: `p${index}`, engine: 'custom', url: `http://h/${index}`, token: '${secret:push}' },
    rules: [{ match: '^events$', id: 'queue', kind: 'input', metric: 'in_events' }],
  }));
  const document = readConfigDocument('', 'headgate.yml', JSON.stringify({ pipelines }));
  const sources = { environment: {}, flags: {}, secretOf: (name: string) => stored.get(name) };
  const work = checkedSettings(document, sources);
  let pauses = 0;
  let reading = work.next();
  for (; reading.done !== true; reading = work.next()) pauses++;
  expect(pauses).toBe(50);
  expect(reading.value.settings).toEqual(readSettings(document, sources).settings);
});

it('applies the rules of secrets to many texts in the thread, and not here', async () => {
  const clock = testClock();
  const jobs: WorkerJob[] = [];
  const holder = createConfigurationHolder({
    source: filesSource({ ...sourcesOf(3), clock }),
    ...{ clock, logger: silentLogger },
    thread: {
      run: async (_, job) => {
        jobs.push(job);
        throw new AppError('unavailable', 'the thread is busy');
      },
      hide: () => Promise.reject(new Error('nothing is hidden')),
      load: () => Promise.reject(new Error('nothing is loaded')),
      loadAtOnce: () => Promise.reject(new Error('nothing is loaded')),
      stop: async () => {},
    },
  });
  onTestFinished(holder.stop);
  holder.load();
  const texts = { 'notifications.yml': notifications(2500) };
  const saving = holder.save({ author: 'a', source: 'api', sent: { texts, mayRefer: true } });
  await expect(saving).rejects.toMatchObject({ code: 'unavailable' });
  expect(jobs.map(({ change }) => change?.sent)).toEqual([{ texts, mayRefer: true }]);
});
