import { join } from 'node:path';
import { createClient } from '@headgate/client';
import { expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { createDatabaseOn, createPostgresDatabase } from '../helpers/postgres.ts';
import { startPostgres } from '../helpers/postgres-server.ts';
import type { Served } from './bin.ts';
import { type Api, inputItem, ledgerItem, login } from './client.ts';
import {
  ADMIN_PASSWORD,
  installation,
  logIn,
  noData,
  serve,
  sink,
  stop,
  temporaryFolder,
  until,
  webhook,
} from './harness.ts';
import { hang, type Reply, scriptedSink, single, status, take } from './scripted-sink.ts';

/** Requests to one target that are under way at once, by default. */
const AT_ONCE = 5;
/** For which a process leads without renewing it. */
const LEASE_MS = 6000;
const names = Array.from({ length: 40 }, (_, index) => `in${index}`);
const TOKEN = 'token-of-edge';

const heldItem = z.object({ heldBecause: z.string().optional() });

/** One database, one folder of configuration and one key ring, for processes that have a data folder each. */
async function cluster(notifications: object, database = createPostgresDatabase) {
  const { url, run, remove } = await database();
  onTestFinished(remove);
  const { config, root } = installation({
    settings: {
      storage: { url: '${env:DATABASE_URL}', keyRing: join(temporaryFolder(), 'keys') },
      pipelines: [{ id: 'edge', engine: 'custom', push: true, token: TOKEN }],
    },
    notifications,
  });
  const options = (name: string) => ({
    config,
    data: join(root, name),
    environment: { HEADGATE_ADMIN_PASSWORD: ADMIN_PASSWORD, DATABASE_URL: url },
  });
  return { run, start: (name: string) => serve(options(name)) };
}

const told = (server: Served, text: string): boolean => server.records().some(({ msg }) => msg === text);
const leads = (server: Served): boolean => told(server, 'this process leads');

async function send(server: Served, path: string, init: RequestInit & { readonly token: string }) {
  const { token, ...request } = init;
  const headers = { authorization: token, 'content-type': 'application/json' };
  const answer = await fetch(`${server.url}${path}`, { ...request, headers });
  return { status: answer.status, body: z.looseObject({}).parse(await answer.json()) };
}

const push = (server: Served, value: number, secret = TOKEN) =>
  send(server, '/ingest/samples', {
    token: `Bearer ${secret}`,
    method: 'POST',
    body: JSON.stringify({
      temporality: 'delta',
      samples: [{ kind: 'input', type: 'syslog', id: 'app', metric: 'in_events', value }],
    }),
  });

it('lets one process lead, and the others answer as it would', async () => {
  const { start } = await cluster({
    targets: [{ id: 'log', type: 'notifications_log' }],
    notifications: [noData('silent', 'syslog:app', '1h', 'log')],
  });
  const first = await start('first');
  const second = await start('second');
  expect([leads(first), leads(second)]).toEqual([true, false]);

  await until(async () => (await push(second, 7)).status === 200, 'a push to the second');
  expect((await push(first, 5)).body).toEqual({ accepted: 1 });
  const api = await logIn(second.url);
  expect(await api.items('/system/inputs', inputItem)).toMatchObject([
    { id: 'app', status: { health: 'Green', metrics: { in_events: 12 } } },
  ]);

  const { token } = await login(first.url);
  const path = '/api/v1/notifications/silent';
  const change = { token, method: 'PATCH', body: '{"severity":"error"}' };
  expect(await send(second, path, change)).toMatchObject({
    status: 200,
    body: { items: [{ severity: 'error' }] },
  });
  for (const server of [first, second])
    expect(await send(server, path, { token })).toMatchObject({ body: { items: [{ severity: 'error' }] } });

  const tooLarge = {
    token,
    method: 'PATCH',
    body: JSON.stringify({ description: 'x'.repeat(6 * 1024 * 1024) }),
  };
  expect((await send(second, path, tooLarge)).status).toBe(413);
  for (const server of [first, second]) expect((await fetch(`${server.url}/api/v1/health`)).status).toBe(200);
  expect((await send(second, '/api/v1/notifications', { token: 'Bearer x.y.z' })).status).toBe(401);
  expect(
    (await send(second, '/ingest/samples', { token: 'Bearer wrong', method: 'POST', body: '{}' })).status,
  ).toBe(401);
});

it('knows a browser at each process that signed in at one, until it signs out at another', async () => {
  const { start } = await cluster({});
  const [first, second] = [await start('first'), await start('second')];
  const own = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
  const body = JSON.stringify({ username: 'admin', password: ADMIN_PASSWORD });
  const begun = await fetch(`${first.url}/session/login`, { method: 'POST', headers: own, body });
  const cookie = begun.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const { csrfToken } = z.looseObject({ csrfToken: z.string() }).parse(await begun.json());
  const isSignedIn = async ({ url }: Served) =>
    z.looseObject({}).parse(await (await fetch(`${url}/session`, { headers: { cookie } })).json()).signedIn;
  expect([await isSignedIn(first), await isSignedIn(second)]).toEqual([true, true]);
  const headers = { ...own, cookie, 'x-csrf-token': csrfToken };
  await fetch(`${second.url}/session`, { method: 'DELETE', headers });
  expect([await isSignedIn(first), await isSignedIn(second)]).toEqual([false, false]);
});

it('lets senders in with an ingest token at each process until it ends at one, also after a kill -9', async () => {
  const { start } = await cluster({});
  const [first, second] = [await start('first'), await start('second')];
  await until(async () => (await push(second, 1)).status === 200, 'the second asks the first');
  const { token } = await login(second.url);
  const path = '/api/v1/system/ingest-tokens';
  const ask = async (server: Served, method: string, at: string, body: object) => {
    const answer = await send(server, path + at, { token, method, body: JSON.stringify(body) });
    expect(answer.status).toBe(200);
    return z
      .object({ items: z.tuple([z.looseObject({ secret: z.string().default('') })]) })
      .parse(answer.body).items[0].secret;
  };
  const taken = async (secret: string) => [
    (await push(first, 1, secret)).status,
    (await push(second, 1, secret)).status,
  ];
  const made = await ask(second, 'POST', '', { id: 'one', pipeline: 'edge' });
  const other = await ask(first, 'POST', '', { id: 'other', pipeline: 'edge' });
  for (const secret of [made, other]) expect(await taken(secret)).toEqual([200, 200]);
  const next = await ask(first, 'POST', '/one/rotate', { grace: '0s' });
  expect([await taken(made), await taken(next)]).toEqual([
    [401, 401],
    [200, 200],
  ]);
  await ask(second, 'PATCH', '/other', { enabled: false });
  expect(await taken(other)).toEqual([401, 401]);
  await first.kill();
  await until(async () => (await push(second, 1, next)).status === 200, 'the second leads');
  for (const secret of [made, other]) expect((await push(second, 1, secret)).status).toBe(401);
});

it('takes events that are posted to a process that does not lead', async () => {
  const hook = await sink();
  const { start } = await cluster({
    targets: [webhook('hook', hook)],
    notifications: [{ id: 'monitors', condition: 'monitor-alerts', targets: ['hook'] }],
  });
  const first = await start('first');
  const second = await start('second');
  const post = (server: Served, state: string, id: string) =>
    send(server, '/ingest/events', {
      token: `Bearer ${TOKEN}`,
      method: 'POST',
      body: JSON.stringify([{ condition: 'monitor-alerts', key: 'cpu', state, id }]),
    });
  await until(async () => (await post(second, 'ALARM', '1')).status === 200, 'a post to the second');
  const api = await logIn(second.url);
  expect(await api.total('/incidents?state=open')).toBe(1);
  await first.kill();
  await until(async () => (await post(second, 'ALARM', '1')).status === 200, 'the second leads');
  expect(await post(second, 'OK', '2')).toMatchObject({ status: 200, body: { accepted: 1 } });
  await until(() => hook.events().length === 2, 'both events');
  expect(hook.events().map(({ status, key }) => `${status} ${key}`)).toEqual(['ALARM cpu', 'OK cpu']);
});

it('holds an inhibited alarm back over a kill -9 of the leading process, and sends it at the next one', async () => {
  const hook = await sink();
  const { start } = await cluster({
    targets: [webhook('hook', hook)],
    notifications: [{ id: 'monitors', condition: 'monitor-alerts', targets: ['hook'] }],
    inhibitions: [
      {
        id: 'root_first',
        when: [{ name: 'key', value: 'root' }],
        hold: [{ name: 'key', op: '!=', value: 'root' }],
        equal: ['host'],
      },
    ],
  });
  const [first, second] = [await start('first'), await start('second')];
  const post = async (server: Served, key: string, state: 'ALARM' | 'OK'): Promise<boolean> => {
    const events = [
      { condition: 'monitor-alerts', key, state, id: `${key} ${state}`, fields: { host: 'a' } },
    ];
    const body = JSON.stringify(events);
    const answer = await send(server, '/ingest/events', { token: `Bearer ${TOKEN}`, method: 'POST', body });
    return answer.status === 200;
  };
  expect([await post(first, 'root', 'ALARM'), await post(first, 'disk', 'ALARM')]).toEqual([true, true]);
  await until(() => hook.events().length === 1, 'the alarm of the cause');
  await first.kill();
  await until(() => leads(second), 'the second process leads');
  const api = await logIn(second.url);
  const grouped = await api.items('/deliveries?state=grouped', ledgerItem);
  expect(grouped).toMatchObject([
    { subject: 'disk', heldBecause: expect.stringContaining("by inhibition 'root_first'") },
  ]);
  // What was open before inhibits what comes after the takeover, too.
  await until(() => post(second, 'cpu', 'ALARM'), 'a post to the second');
  expect(await api.total('/deliveries?state=grouped')).toBe(2);
  expect([await post(second, 'cpu', 'OK'), await post(second, 'root', 'OK')]).toEqual([true, true]);
  await until(() => hook.events().length === 3, 'the end of the cause, and what it held back');
  expect(new Set(hook.events().map(({ status, key }) => `${status} ${key}`))).toEqual(
    new Set(['ALARM root', 'OK root', 'ALARM disk']),
  );
});

const alarms = (hook: Parameters<typeof webhook>[1]) => ({
  targets: [webhook('hook', hook)],
  notifications: names.map(name => noData(`silent_${name}`, `a:${name}`, '1s')),
});

/** Two processes, the first of which leads and has every alarm under way to a receiver that does not answer. */
async function amidAlarms() {
  const hook = await sink();
  const { start, run } = await cluster(alarms(hook));
  hook.become('hang');
  const first = await start('first');
  const second = await start('second');
  const api = await logIn(second.url);
  await until(
    async () => (await api.total('/deliveries?state=waiting')) === names.length,
    'every alarm accepted',
  );
  // What is begun and not yet written to the socket would leave after a freeze.
  await until(() => hook.requests.length >= AT_ONCE, 'as many requests as may be under way');
  return { hook, first, second, api, run };
}

it('sends every accepted alarm within seconds of a kill -9 of the leading process, repeating only what was not settled', async () => {
  const { hook, first, second, api } = await amidAlarms();
  await first.kill();
  hook.become('accept');
  await until(() => leads(second), 'the second process leads');
  await until(async () => (await api.total('/deliveries?state=sent')) === names.length, 'every delivery');
  expect(hook.refusals).toEqual([]);
  expect(hook.taken).toHaveLength(names.length);
  expect(new Set(hook.events().map(event => event.input))).toEqual(new Set(names.map(name => `a:${name}`)));
  expect(await api.total('/incidents?state=open')).toBe(names.length);
});

/** Two processes, the first of which leads, with events that are posted for a receiver. */
async function posting(reply: Reply) {
  const hook = await scriptedSink();
  hook.reply(reply);
  const { start } = await cluster({
    targets: [single('hook', hook.url)],
    notifications: [{ id: 'monitors', condition: 'monitor-alerts', targets: ['hook'] }],
  });
  const [first, second] = [await start('first'), await start('second')];
  const post = async (server: Served, state: 'ALARM' | 'OK') => {
    const body = JSON.stringify([{ condition: 'monitor-alerts', key: 'cpu', state, id: state }]);
    const answer = await send(server, '/ingest/events', { token: `Bearer ${TOKEN}`, method: 'POST', body });
    expect(answer.status).toBe(200);
  };
  return { hook, first, second, post };
}

it('takes for unknown what was under way when another process takes over, and sends its end', async () => {
  const { hook, first, second, post } = await posting(hang);
  await post(first, 'ALARM');
  await until(() => hook.calls.length === 1, 'a request under way');
  await first.kill();
  hook.reply(status(404));
  await until(() => leads(second), 'the second process leads');
  const api = await logIn(second.url);
  await until(async () => (await api.total('/deliveries?state=unknown')) === 1, 'an unknown delivery');
  hook.reply(take);
  await post(second, 'OK');
  await until(() => hook.taken().length === 1, 'its end');
  expect(hook.taken().map(({ event }) => event.status)).toEqual(['OK']);
});

it('leads on while an attempt takes longer than its lease, and makes no other', async () => {
  const answers: (() => void)[] = [];
  const { hook, first, second, post } = await posting(
    (call, response) => void answers.push(() => take(call, response)),
  );
  await post(first, 'ALARM');
  await until(() => answers.length === 1, 'a request under way');
  const begun = performance.now();
  await until(() => performance.now() - begun > LEASE_MS + 1500, 'more than a lease');
  answers[0]?.();
  const api = await logIn(second.url);
  await until(async () => (await api.total('/deliveries?state=sent')) === 1, 'the delivery');
  expect([leads(second), told(first, 'this process leads no more')]).toEqual([false, false]);
  expect(hook.calls).toHaveLength(1);
});

it('lets a process that was frozen beyond its lease settle and send nothing more', async () => {
  const { hook, first, second, api } = await amidAlarms();
  first.signal('SIGSTOP');
  hook.become('accept');
  await until(() => leads(second), 'the second process leads');
  await until(async () => (await api.total('/deliveries?state=sent')) === names.length, 'every delivery');
  const requests = hook.requests.length;
  first.signal('SIGCONT');
  await until(() => told(first, 'this process leads no more'), 'the first process gives up');
  await until(async () => (await push(first, 1)).status === 200, 'the first process asks the second');
  expect(hook.requests.length).toBe(requests);
  // What was taken in the moment of the freeze comes again, under its id.
  expect(hook.events()).toHaveLength(names.length);
  expect(new Set(hook.taken.map(({ webhookId }) => webhookId)).size).toBe(names.length);
  expect(hook.refusals).toEqual([]);
  expect(await api.total('/deliveries?state=sent')).toBe(names.length);
});

it('says at every process what holds a delivery in the queue of its target, also while none leads', async () => {
  const { hook, first, api, run } = await amidAlarms();
  const at = [await logIn(first.url), api];
  const BUSY = 'as many requests are in flight as concurrency allows';
  const reasons = async (one: Api): Promise<readonly string[]> => {
    const deliveries = await one.items('/deliveries', ledgerItem);
    const incidents = await one.items('/incidents', heldItem);
    return [...deliveries, ...incidents].map(({ heldBecause = '' }) => heldBecause).sort();
  };
  const [led = [], following = []] = await Promise.all(at.map(reasons));
  expect(led.filter(reason => reason === BUSY)).toHaveLength(2 * (names.length - AT_ONCE));
  expect(following).toEqual(led);

  await run("update leases set owner = 'nobody', epoch = epoch + 1, until = until + 3600000");
  const NOT_LED = 'no process leads at the moment; it is sent once one does';
  await until(async () => {
    const both = await Promise.all(at.map(reasons)).catch(() => []);
    return both.length > 0 && both.every(all => all.includes(NOT_LED) && !all.includes(BUSY));
  }, 'both processes alone');
  hook.become('accept');
  await run('update leases set until = 0');
  await until(async () => (await api.total('/deliveries?state=sent')) === names.length, 'every delivery');
});

it('hands over at once when the leading process is stopped, and three share the work in turn', async () => {
  const { start } = await cluster({ targets: [], notifications: [] });
  const first = await start('first');
  const others = [await start('second'), await start('third')];
  expect(await stop(first)).toEqual({ code: 0, signal: null });
  // The lease would be in force for 4 seconds at least, had it not been given back.
  await until(() => others.filter(leads).length === 1, 'another process leads');
  const next = others.find(leads);
  const last = others.find(server => !leads(server));
  if (next === undefined || last === undefined) throw new Error('there are two');
  await stop(next);
  await until(() => leads(last), 'the last one leads');
  await until(async () => (await push(last, 3)).status === 200, 'a push to the last');
});

it('goes on when nobody hears notices any more', async () => {
  const { start, run } = await cluster({ targets: [], notifications: [] });
  const first = await start('first');
  const second = await start('second');
  await run(
    "select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen %' and datname = current_database()",
  );
  await stop(first);
  await until(() => leads(second), 'the second process leads');
});

it('leads again after the database was down under load, and loses and doubles nothing', async () => {
  const hook = await sink();
  const postgres = await startPostgres();
  onTestFinished(() => postgres.remove());
  const { start } = await cluster(alarms(hook), () => createDatabaseOn(postgres.url('postgres')));
  hook.become('hang');
  const both = [await start('first'), await start('second')];
  const api = await logIn(both[1]?.url ?? '');
  await until(
    async () => (await api.total('/deliveries?state=waiting')) === names.length,
    'every alarm accepted',
  );
  postgres.stop('immediate');
  await until(() => both.some(server => told(server, 'this process leads no more')), 'nobody leads');
  hook.become('accept');
  postgres.start();
  await until(
    async () => (await api.total('/deliveries?state=sent').catch(() => 0)) === names.length,
    'every delivery',
  );
  expect(hook.refusals).toEqual([]);
  expect(hook.taken).toHaveLength(names.length);
  expect(await api.total('/incidents?state=open')).toBe(names.length);
});

it('lets an older version lead no more once a newer one has migrated the database, and says so', async () => {
  const { start, run } = await cluster({ targets: [], notifications: [] });
  const first = await start('first');
  await run("insert into migrations (name, timestamp) values ('29990101000000-from-the-future', 'now')");
  await until(() => told(first, 'this process leads no more'), 'the older version gives up');
  const reasons = first.records().map(({ reason }) => String(reason));
  expect(reasons.find(reason => reason.includes('newer version'))).toContain('end it, or upgrade it');
  expect((await fetch(`${first.url}/api/v1/health`)).status).toBe(200);
});

it('tells over a process that does not lead what happens at the one that does', async () => {
  const { start } = await cluster({ targets: [], notifications: [] });
  await start('first');
  const second = await start('second');
  const client = createClient({
    baseUrl: second.url,
    auth: { username: 'admin', password: ADMIN_PASSWORD },
    ingestToken: TOKEN,
  });
  await until(async () => (await push(second, 1)).status === 200, 'the second asks the first');
  const heard = (async () => {
    for await (const { event } of client.events.stream()) if (event === 'components') return event;
    return 'nothing';
  })();
  let number = 0;
  await until(async () => {
    number += 1;
    const sample = { kind: 'input', id: `in${number}`, metric: 'in_events', value: 1 } as const;
    await client.ingest.samples({ body: { samples: [sample] } });
    return (await Promise.race([heard, Promise.resolve('not yet')])) === 'components';
  }, 'a hint of new components');
});
