import { expect, it } from 'vitest';
import { type Api, ledgerItem } from './client.ts';
import { installation, logIn, serve, stop, until } from './harness.ts';
import { alarm, end, keys, monitors, POSTING, post } from './posting.ts';
import { type Call, hang, type ScriptedSink, scriptedSink, single, status, take } from './scripted-sink.ts';

const installed = (hook: ScriptedSink, retrySchedule: readonly string[] = ['0s', '1s']) =>
  installation({
    settings: { pipelines: [POSTING], delivery: { retrySchedule } },
    notifications: { targets: [single('hook', hook.url)], notifications: [monitors('hook')] },
  });

const idle = (api: Api): Promise<void> =>
  until(async () => (await api.total('/deliveries?state=waiting')) === 0, 'an empty queue');

const keysOf = (calls: readonly Call[]): string[] => calls.map(({ event }) => String(event.key));
const requestsOf = (calls: readonly Call[], id: string): number =>
  calls.filter(call => call.id === id).length;

it('delivers all that it accepted although it is killed amid them, and repeats only what was under way', async () => {
  const hook = await scriptedSink();
  const folders = installed(hook);
  const all = keys(200);
  const first = await serve(folders);
  // The first 20 are taken, then nothing is answered any more.
  hook.reply((call, response) => (hook.calls.length <= 20 ? take : hang)(call, response));
  await post(first, all.map(alarm));
  const api = await logIn(first.url);
  await until(async () => (await api.total('/deliveries?state=sent')) === 20, 'the first 20');
  await until(() => hook.calls.length === 25, 'five requests under way');
  await first.kill();
  const underWay = hook.calls.slice(20).map(({ id }) => id);
  hook.reply(take);

  const second = await serve(folders);
  await idle(await logIn(second.url));
  expect(keysOf(hook.taken()).sort()).toEqual([...all].sort());
  expect(hook.calls).toHaveLength(205);
  expect(new Set(hook.calls.map(({ id }) => id)).size).toBe(200);
  for (const id of underWay) expect(requestsOf(hook.calls, id)).toBe(2);

  // What arrived does not arrive again when the server is killed and its sources post the same once more.
  await second.kill();
  const third = await serve(folders);
  await post(third, all.map(alarm));
  await post(third, [alarm('one more')]);
  await idle(await logIn(third.url));
  expect(keysOf(hook.taken().slice(200))).toEqual(['one more']);
  expect(await stop(third)).toEqual({ code: 0, signal: null });
});

it('ends within its time while a target hangs, and sends the rest after the next start', async () => {
  const hook = await scriptedSink();
  const folders = installed(hook);
  const first = await serve(folders);
  hook.reply(hang);
  await post(first, keys(12).map(alarm));
  await until(() => hook.calls.length === 5, 'requests that hang');
  const asked = performance.now();
  expect(await stop(first)).toEqual({ code: 0, signal: null });
  expect(performance.now() - asked).toBeLessThan(25_000);
  expect(hook.calls).toHaveLength(5);
  hook.reply(take);
  const second = await serve(folders);
  await idle(await logIn(second.url));
  expect(await stop(second)).toEqual({ code: 0, signal: null });
  expect(keysOf(hook.taken()).sort()).toEqual(keys(12).sort());
  expect(new Set(hook.calls.map(({ id }) => id)).size).toBe(12);
});

it('delivers alarms and ends of an outage that both fall into it, in order and each once', async () => {
  const hook = await scriptedSink();
  const folders = installed(hook, ['0s', ...Array<string>(60).fill('1s')]);
  const server = await serve(folders);
  const api = await logIn(server.url);
  hook.reply(status(503));
  await post(server, keys(50).map(alarm));
  await post(server, keys(50).map(end));
  await until(() => hook.calls.some(({ number }) => number > 2), 'second retries');
  expect(hook.calls.filter(({ event }) => event.status === 'OK')).toEqual([]);
  hook.reply(take);
  await idle(api);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  const taken = hook.taken();
  expect(taken).toHaveLength(100);
  expect(new Set(taken.map(({ id }) => id)).size).toBe(100);
  for (const key of keys(50)) {
    const told = taken.filter(({ event }) => event.key === key);
    expect(told.map(({ event }) => event.status)).toEqual(['ALARM', 'OK']);
    expect(new Set(told.map(({ event }) => event.incidentId)).size).toBe(1);
  }
});

it('sends nothing while a receiver asks it to wait, and tells all that happened meanwhile, in order', async () => {
  const hook = await scriptedSink();
  const folders = installed(hook, ['0s', '1s', '1s', '1s', '1s']);
  const server = await serve(folders);
  const api = await logIn(server.url);
  const refusedAt: number[] = [];
  hook.reply((call, response) => {
    if (hook.calls.length % 10 !== 0) return take(call, response);
    refusedAt.push(performance.now());
    status(429, { 'retry-after': '2' })(call, response);
  });
  await post(server, keys(20).map(alarm));
  await post(server, keys(20).map(end));
  await idle(api);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  for (const key of keys(20))
    expect(
      hook
        .taken()
        .filter(({ event }) => event.key === key)
        .map(({ event }) => event.status),
    ).toEqual(['ALARM', 'OK']);
  expect(hook.taken()).toHaveLength(40);
  expect(refusedAt.length).toBeGreaterThanOrEqual(4);
  // What was under way is let be.
  const during = refusedAt.map(
    from => hook.calls.filter(({ at }) => at > from + 200 && at < from + 1990).length,
  );
  expect(during).toEqual(refusedAt.map(() => 0));
});

it('sends nothing into a pause that a receiver asked for before the server was killed', async () => {
  const hook = await scriptedSink();
  const folders = installed(hook);
  hook.reply(status(429, { 'retry-after': '8' }));
  const first = await serve(folders);
  await post(first, [alarm('asked')]);
  const api = await logIn(first.url);
  const booked = async () => (await api.items('/deliveries', ledgerItem))[0]?.attempts === 1;
  await until(booked, 'the attempt in the ledger');
  const [asked] = hook.calls;
  await first.kill();
  hook.reply(take);

  const second = await serve(folders);
  await post(second, [alarm('later')]);
  await idle(await logIn(second.url));
  expect(await stop(second)).toEqual({ code: 0, signal: null });
  expect(keysOf(hook.taken()).sort()).toEqual(['asked', 'later']);
  for (const { at } of hook.taken()) expect(at - (asked?.at ?? at)).toBeGreaterThanOrEqual(7990);
});

it('tells an alarm that comes back while its end is still being sent', async () => {
  const hook = await scriptedSink();
  const folders = installed(hook);
  const server = await serve(folders);
  const api = await logIn(server.url);
  const again = { ...alarm('key'), id: 'key begins again' };
  await post(server, [alarm('key')]);
  await idle(api);
  const answers: (() => void)[] = [];
  hook.reply((call, response) => void answers.push(() => take(call, response)));
  await post(server, [end('key')]);
  await until(() => answers.length === 1, 'the end on its way');
  await post(server, [again]);
  hook.reply(take);
  answers[0]?.();
  await idle(api);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  expect(hook.calls.map(({ event }) => event.status)).toEqual(['ALARM', 'OK', 'ALARM']);
  const [first, , third] = hook.calls.map(({ event }) => event.incidentId);
  expect(third).not.toBe(first);
});

it('sends the end of an alarm that was read and never answered, and says that it may not have arrived', async () => {
  const hook = await scriptedSink();
  const folders = installation({
    settings: { pipelines: [POSTING], delivery: { retrySchedule: ['0s', '1s'] } },
    notifications: {
      targets: [single('hook', hook.url, { timeoutSec: 1 })],
      notifications: [monitors('hook')],
    },
  });
  const server = await serve(folders);
  const api = await logIn(server.url);
  hook.reply(hang);
  await post(server, [alarm('a')]);
  await until(async () => (await api.total('/deliveries?state=unknown')) === 1, 'an unknown delivery');
  expect(new Set(hook.calls.map(({ id }) => id)).size).toBe(1);
  hook.reply(take);
  await post(server, [end('a')]);
  await until(async () => (await api.total('/deliveries?state=sent')) === 1, 'its end');
  expect(hook.taken().map(({ event }) => event.status)).toEqual(['OK']);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toContain('headgate_delivery_attempts_total{target="hook",outcome="unknown"} 2');
  expect(await stop(server)).toEqual({ code: 0, signal: null });
});

it('takes for unknown what was under way at a kill -9, whatever is answered later, and sends its end', async () => {
  const hook = await scriptedSink();
  const folders = installed(hook);
  const first = await serve(folders);
  hook.reply(hang);
  await post(first, [alarm('a')]);
  await until(() => hook.calls.length === 1, 'a request under way');
  await first.kill();

  hook.reply(status(404));
  const second = await serve(folders);
  const api = await logIn(second.url);
  await until(async () => (await api.total('/deliveries?state=unknown')) === 1, 'an unknown delivery');
  const [delivery] = await api.items('/deliveries', ledgerItem);
  expect(delivery?.lastError).toContain('an earlier attempt may have reached the receiver');
  hook.reply(take);
  await post(second, [end('a')]);
  await until(() => hook.taken().length === 1, 'its end');
  expect(hook.taken().map(({ event }) => event.status)).toEqual(['OK']);
  expect(await stop(second)).toEqual({ code: 0, signal: null });

  // What is refused after an end without a fault was never under way.
  hook.reply(status(404));
  const third = await serve(folders);
  await post(third, [alarm('b')]);
  const again = await logIn(third.url);
  await until(async () => (await again.total('/deliveries?state=refused')) === 1, 'a refused delivery');
  expect(await stop(third)).toEqual({ code: 0, signal: null });
});
