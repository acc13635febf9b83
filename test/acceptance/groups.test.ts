import { expect, it } from 'vitest';
import { installation, logIn, serve, sink, stop, until, webhook } from './harness.ts';
import { alarm, keys, monitors, POSTING, post } from './posting.ts';
import type { Sink } from './sink.ts';

const GROUPS = 5;

const installed = (hook: Sink, groupWait: string) =>
  installation({
    settings: { pipelines: [POSTING] },
    notifications: {
      targets: [webhook('hook', hook)],
      notifications: [{ ...monitors('hook'), groupBy: ['team'], groupWait }],
    },
  });

const events = keys(100).map((key, index) => ({
  ...alarm(key),
  fields: { team: `team-${index % GROUPS}` },
}));

/** The teams of each request's events, each once. */
function teamsOfRequests(hook: Sink): string[] {
  const teams = new Map<string, Set<unknown>>();
  for (const { webhookId, event } of hook.taken)
    teams.set(webhookId, (teams.get(webhookId) ?? new Set()).add(event.team));
  return [...teams.values()].map(names => [...names].join(' and ')).sort();
}

const each = Array.from({ length: GROUPS }, (_, index) => `team-${index}`);

it('sends what agrees in the fields of groupBy in one request', async () => {
  const hook = await sink();
  const server = await serve(installed(hook, '2s'));
  await post(server, events.slice(0, 60));
  await post(server, events.slice(60));
  await until(() => hook.events().length === 100, 'every event');
  expect(hook.requests).toHaveLength(GROUPS);
  expect(teamsOfRequests(hook)).toEqual(each);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
});

it('still sends each group in one request when it is killed while they wait', async () => {
  const hook = await sink();
  const folders = installed(hook, '10s');
  const first = await serve(folders);
  await post(first, events.slice(0, 60));
  await first.kill();
  const second = await serve(folders);
  await post(second, events.slice(60));
  const api = await logIn(second.url);
  await until(() => hook.events().length === 100, 'every event');
  expect(hook.requests).toHaveLength(GROUPS);
  expect(teamsOfRequests(hook)).toEqual(each);
  await until(async () => (await api.total('/deliveries?state=sent')) === 100, 'all to be booked');
  expect(await stop(second)).toEqual({ code: 0, signal: null });
});
