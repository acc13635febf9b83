import { Counter } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { inputItem } from './client.ts';
import {
  ADMIN_PASSWORD,
  headgate,
  installation,
  logIn,
  metricsPage,
  noData,
  serve,
  sink,
  temporaryFolder,
  until,
  webhook,
} from './harness.ts';

const presentItem = inputItem.extend({
  status: inputItem.shape.status.extend({ presence: z.enum(['present', 'gone', 'unknown']) }),
});
const labelsOf = (id: string) => ({
  component_id: id,
  component_kind: 'source',
  component_type: 'syslog',
});

it('shows in list, health, messages and on the command line what is present, gone and unknown', async () => {
  const [page, hook] = [await metricsPage(), await sink()];
  const events = new Counter({
    name: 'vector_component_received_events_total',
    help: 'events',
    labelNames: Object.keys(labelsOf('')),
    registers: [page.registry],
  });
  let named = ['app', 'web'];
  const timer = setInterval(() => {
    for (const id of named) events.inc(labelsOf(id));
  }, 50);
  onTestFinished(() => clearInterval(timer));
  const server = await serve(
    installation({
      settings: {
        pipelines: [{ id: 'edge', engine: 'vector', url: page.url, interval: '1s', timeout: '500ms' }],
      },
      notifications: {
        targets: [webhook('hook', hook)],
        notifications: [noData('silent', 'syslog:*', '5s')],
      },
    }),
  );
  const api = await logIn(server.url);
  const XDG_CONFIG_HOME = temporaryFolder();
  await headgate(['login', '--url', server.url], { XDG_CONFIG_HOME }, `${ADMIN_PASSWORD}\n`);

  /** What the list, the list of health and the command line show of an input, which is the same. */
  async function shown(id: string): Promise<string> {
    const listed = (await api.items('/system/inputs', presentItem)).find(one => one.id === id);
    const states = await api.items('/system/status/inputs', presentItem.pick({ id: true, status: true }));
    expect(states.find(one => one.id === id)?.status.presence).toBe(listed?.status.presence);
    return `${listed?.status.presence} ${listed?.status.health} ${listed?.status.error?.message ?? ''}`.trim();
  }
  async function inTable(id: string): Promise<string | undefined> {
    const { stdout } = await headgate(['inputs', 'list'], { XDG_CONFIG_HOME });
    return stdout
      .split('\n')
      .map(line => line.split(/ {2,}/))
      .find(([name]) => name === id)
      ?.slice(2, 4)
      .join(' ');
  }
  const becomes = (id: string, what: RegExp) =>
    until(async () => what.test(await shown(id)), `${id} to be ${what.source}`);
  const messages = (): string[] => hook.events().map(({ _raw }) => _raw);

  await becomes('app', /^present Green$/);
  await becomes('web', /^present Green$/);

  named = ['web'];
  events.remove(labelsOf('app'));
  await becomes('app', /^gone Unknown its page no longer names it$/);
  expect(await inTable('app')).toBe('Unknown gone');
  expect(await inTable('web')).toBe('Green present');
  await until(() => messages().length > 0, 'the alarm of what is gone');
  expect(messages()).toEqual(['Source syslog:app had no data for 5s: its page no longer names it']);

  page.become('failing');
  await becomes('web', /^unknown \w+ pipeline unreachable: /);
  await until(() => messages().length > 1, 'the alarm of what is unknown');
  expect(messages()[1]).toMatch(/^Source syslog:web had no data for 5s: pipeline unreachable: /);
  await becomes('web', /^unknown Red pipeline unreachable: /);
  expect(await inTable('web')).toBe('Red unknown');

  named = ['app', 'web'];
  page.become('well');
  await becomes('app', /^present Green$/);
  await becomes('web', /^present Green$/);
  await until(() => messages().length >= 4, 'both ends');
  expect(messages().slice(2).sort()).toEqual([
    expect.stringMatching(/^Source syslog:app is receiving data again after /),
    expect.stringMatching(/^Source syslog:web is receiving data again after /),
  ]);
  expect(hook.refusals).toEqual([]);

  const [incident] = JSON.parse(
    (await headgate(['incidents', 'list', '--json'], { XDG_CONFIG_HOME })).stdout,
  ).items;
  const { stdout } = await headgate(['incidents', 'events', incident.id], { XDG_CONFIG_HOME });
  const changes = stdout.split('\n').map(line => line.split(/ {2,}/).slice(1, 3).join(' '));
  expect(changes).toEqual(['STATUS CHANGE', 'ALARM opened', 'OK resolved', '']);
});
