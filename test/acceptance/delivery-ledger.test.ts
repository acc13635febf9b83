import { expect, it } from 'vitest';
import * as z from 'zod';
import { ADMIN_PASSWORD, headgate } from './bin.ts';
import { type Api, ledgerDetail, ledgerItem } from './client.ts';
import { installation, logIn, serve, stop, temporaryFolder, until } from './harness.ts';
import { alarm, end, keys, monitors, POSTING, post } from './posting.ts';
import { scriptedSink, single, status, take } from './scripted-sink.ts';

const replayAnswer = z.object({ items: z.array(z.object({ requeued: z.number(), overtaken: z.number() })) });

const count = (api: Api, query: string) => async () => await api.total(`/deliveries?${query}`);

async function replay(api: Api, body: object) {
  const { status: code, text } = await api.change('/deliveries/replay', body);
  expect(code).toBe(200);
  return replayAnswer.parse(JSON.parse(text)).items[0];
}

it('sends again what was given up or waits when a person asks for it, one or a range, by API and command line', async () => {
  const hook = await scriptedSink();
  const folders = installation({
    settings: { pipelines: [POSTING], delivery: { retrySchedule: ['0s', '1s', '8h'] } },
    notifications: {
      targets: [single('hook', hook.url)],
      notifications: [monitors('hook')],
    },
  });
  const server = await serve(folders);
  const api = await logIn(server.url);
  const home = temporaryFolder();
  const run = (args: readonly string[], input = '') => headgate(args, { XDG_CONFIG_HOME: home }, input);
  expect((await run(['login', '--url', server.url], `${ADMIN_PASSWORD}\n`)).code).toBe(0);
  const began = new Date(Date.now() - 1).toISOString();

  // Given up at once: a request that this receiver does not like.
  hook.reply(status(400));
  await post(server, keys(6).map(alarm));
  await until(async () => (await count(api, 'state=refused')()) === 6, 'the refusals');
  await post(server, [end('key-0')]);
  await until(async () => (await count(api, 'state=skipped')()) === 1, 'the end that is skipped');
  const between = new Date().toISOString();
  // Waits for eight hours after the second attempt.
  hook.reply(status(503));
  await post(server, [alarm('slow')]);
  await until(
    async () => (await api.items('/deliveries?state=waiting', ledgerItem))[0]?.attempts === 2,
    'two',
  );
  const [slow] = await api.items('/deliveries?state=waiting', ledgerItem);
  expect(Date.parse(slow?.nextAt ?? '') - Date.now()).toBeGreaterThan(3_600_000);

  // By range and by page.
  expect(await count(api, `since=${began}&until=${between}`)()).toBe(7);
  expect(await count(api, `since=${between}`)()).toBe(1);
  const pages = await Promise.all(
    [0, 3, 6].map(offset => api.items(`/deliveries?until=${between}&limit=3&offset=${offset}`, ledgerItem)),
  );
  const ids = pages.flat().map(({ id }) => id);
  expect(pages.map(page => page.length)).toEqual([3, 3, 1]);
  expect(ids).toEqual([...ids].sort().reverse());
  expect(new Set(ids).size).toBe(7);

  // One that waits is tried at once, and by its schedule from the beginning.
  const tried = await run(['deliveries', 'retry', slow?.id ?? '', '--json']);
  expect(tried).toMatchObject({ code: 0, stderr: '' });
  expect(ledgerItem.parse(JSON.parse(tried.stdout))).toMatchObject({ id: slow?.id, state: 'waiting' });
  await until(() => hook.calls.filter(({ id }) => id === slow?.id).length === 4, 'two more attempts');
  hook.reply(take);
  const again = await run(['deliveries', 'retry', slow?.id ?? '']);
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(again.stdout).toMatch(/^state +waiting$/m);
  await until(async () => (await count(api, 'state=sent')()) === 1, 'its arrival');
  const [detail] = await api.items(`/deliveries/${slow?.id}`, ledgerDetail);
  expect(detail).toMatchObject({ attempts: 5, lastStatus: 200 });
  expect(detail?.log.map(one => one.outcome)).toEqual(['retry', 'retry', 'retry', 'retry', 'sent']);
  expect(await run(['deliveries', 'retry', slow?.id ?? ''])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('has arrived; there is nothing to retry'),
  });

  // The alarm with the end that was skipped for its sake, in order.
  const [first] = (await api.items('/deliveries?state=refused', ledgerItem)).slice(-1);
  expect(first?.subject).toContain('key-0');
  expect((await api.change(`/deliveries/${first?.id}/retry`)).status).toBe(200);
  await until(async () => (await count(api, 'state=sent')()) === 3, 'alarm and end');
  const taken = () => hook.taken().map(({ event }) => `${event.key} ${event.status}`);
  expect(taken()).toEqual(['slow ALARM', 'key-0 ALARM', 'key-0 OK']);

  // A range; what lies outside it or is settled stays.
  expect(await replay(api, { since: between })).toEqual({ requeued: 0, overtaken: 0 });
  expect(await replay(api, { since: began, until: between, states: ['exhausted'] })).toMatchObject({
    requeued: 0,
  });
  expect(await replay(api, { since: began, target: 'nobody' })).toMatchObject({ requeued: 0 });
  const range = await run(['deliveries', 'replay', '--since', began, '--until', between, '--target', 'hook']);
  expect(range).toMatchObject({ code: 0, stderr: '' });
  expect(range.stdout).toMatch(/^requeued +5$/m);
  await until(async () => (await count(api, 'state=sent')()) === 8, 'what was replayed');
  const json = await run(['deliveries', 'replay', '--since', '1h', '--json']);
  expect(JSON.parse(json.stdout)).toEqual({ requeued: 0, overtaken: 0 });
  expect(taken().slice(3).sort()).toEqual(
    keys(6)
      .slice(1)
      .map(key => `${key} ALARM`),
  );
  expect(hook.taken()).toHaveLength(new Set(hook.taken().map(({ id }) => id)).size);
  expect((await api.change('/deliveries/none/retry')).status).toBe(404);
  const backwards = await api.change('/deliveries/replay', { since: between, until: began });
  expect(backwards).toMatchObject({ status: 400, text: expect.stringContaining('must be later than since') });
  expect((await api.change('/deliveries/replay', {})).status).toBe(400);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
});

it('shows no secret that a receiver gives back, and keeps the pace of each target', async () => {
  const secrets = {
    byToken: { authType: 'token', token: 'token-of-the-receiver' },
    byPassword: { authType: 'basic', username: 'operator', password: 'a pass"word' },
    byHeader: { extraHttpHeaders: [{ name: 'x-api-key', value: 'key-of-the-receiver' }] },
    byAddress: {},
  };
  const [hook, paced] = [await scriptedSink(), await scriptedSink()];
  hook.reply((call, response) => {
    const { authorization = '' } = call.headers;
    const password = Buffer.from(String(authorization).replace('Basic ', ''), 'base64').toString('utf8');
    const query = call.path.slice(call.path.indexOf('=') + 1);
    const echo = { path: call.path, query, headers: call.headers, password: password.split(':')[1] };
    status(400, {}, JSON.stringify(echo))(call, response);
  });
  const path = '/services/T0001/B0001/hidden-in-the-path?key=hidden-in-the-query';
  const folders = installation({
    settings: { pipelines: [POSTING] },
    notifications: {
      targets: [
        ...Object.entries(secrets).map(([id, more]) =>
          single(id, id === 'byAddress' ? `${hook.url}${path}` : hook.url, more),
        ),
        single('paced', paced.url, { pacing: '5/second' }),
      ],
      notifications: [monitors(...Object.keys(secrets), 'paced')],
    },
  });
  const server = await serve(folders);
  const api = await logIn(server.url);
  const posted = performance.now();
  await post(server, keys(15).map(alarm));
  await until(async () => (await count(api, 'state=refused')()) === 15 * 4, 'the refusals');
  await until(async () => (await count(api, 'state=sent')()) === 15, 'what is paced');
  const shown: string[] = [];
  for (const id of Object.keys(secrets)) {
    const [one] = await api.items(`/deliveries?target=${id}&limit=1`, ledgerItem);
    const [detail] = await api.items(`/deliveries/${one?.id}`, ledgerDetail);
    expect(detail?.log[0]?.answer).toContain('********');
    shown.push(JSON.stringify(detail));
  }
  const text = shown.join('\n') + server.stderr();
  const basic = Buffer.from('operator:a pass"word').toString('base64');
  const hidden = ['token-of-the-receiver', 'pass\\"word', 'pass\\\\\\"word', 'key-of-the-receiver', basic];
  for (const secret of [...hidden, 'hidden-in-the-path', 'hidden-in-the-query'])
    expect([secret, text.includes(secret)]).toEqual([secret, false]);

  // However late a busy machine is with some, none comes before its time.
  const waits = paced.calls.map(({ at }) => at - posted);
  expect(waits).toHaveLength(15);
  for (const [index, wait] of waits.entries())
    expect(wait).toBeGreaterThanOrEqual(Math.floor(index / 5) * 1000);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
});
