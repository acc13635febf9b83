import { expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { cpuMsOf } from '../../test/helpers/cpu-time.ts';
import { systemClock } from '../lib/clock.ts';
import { processorTimeOf } from '../lib/thread-time.ts';
import { createCheckThread } from './check-thread.ts';
import { UNLIMITED_QUOTAS } from './restrictions.ts';
import { performJob, type WorkerJob } from './worker-job.ts';

const restrictions = {
  delivery: { privateAddresses: 'refuse' as const, allowedAddresses: [] },
  externalUrl: 'https://gate.example',
  quotas: UNLIMITED_QUOTAS,
};

const jobOf = (
  texts: NonNullable<WorkerJob['sources']['texts']>,
  change?: WorkerJob['change'],
): WorkerJob => ({
  sources: { folder: 'main-acme', environment: {}, flags: {}, restrictions, texts },
  secrets: new Map(),
  change,
  ...(change === undefined && { checked: ['notifications.yml'] }),
});

const withTargets = (items: string): WorkerJob => jobOf({ 'notifications.yml': `targets: [${items}]` });
const small = withTargets('');

const described = (conf: object): WorkerJob =>
  jobOf(
    {},
    {
      edits: [{ section: 'notifications', id: 'n', value: { id: 'n', condition: 'no-data', ...conf } }],
      sent: undefined,
      now: { 'notifications.yml': 'notifications: []\n' },
    },
  );

it('runs one job after the other, in turn, and lets one of each workspace wait', async () => {
  const thread = createCheckThread(systemClock);
  const order: string[] = [];
  const run = (name: string, owner: string) => thread.run(owner, small).then(() => void order.push(name));
  const running = [run('first', 'acme'), run('second', 'acme'), run('other', 'corp')];
  await expect(run('third', 'acme')).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 });
  await Promise.all(running);
  expect(order).toEqual(['first', 'second', 'other']);
  await run('later', 'acme');
});

const LONG = withTargets('0,'.repeat(200_000));

it('counts the time of its own thread alone, however busy the process is', async () => {
  const asked: number[] = [];
  const timeOf = (thread: number): number => {
    asked.push(thread);
    return 0;
  };
  const thread = createCheckThread(systemClock, { maxCpuMs: 20, timeOf });
  expect(await thread.run('acme', LONG)).toMatchObject({ kind: 'read' });
  expect(asked.at(-1)).toBeGreaterThan(0);
  expect(processorTimeOf(asked.at(-1) ?? 0)).toBeGreaterThan(20);
  await thread.stop();
});

it('loads what workspaces have stored one at a time, and without a bound', async () => {
  const thread = createCheckThread(systemClock, { maxCpuMs: 0 });
  const order: string[] = [];
  await Promise.all([
    thread.load(withTargets('0,'.repeat(20_000))).then(() => order.push('large')),
    thread.load(small).then(() => order.push('small')),
  ]);
  expect(order).toEqual(['large', 'small']);
  await thread.stop();
});

it('keeps the thread that loaded for a minute, as to start one costs more than most loads', async () => {
  const clock = testClock();
  const thread = createCheckThread(clock);
  const load = () => cpuMsOf(() => thread.loadAtOnce(small));
  const [first, ...next] = [await load(), await load(), await load(), await load()];
  expect(Math.min(...next)).toBeLessThan(first / 3);
  await clock.advance(60_000);
  expect(await load()).toBeGreaterThan(3 * Math.min(...next));
  await thread.stop();
});

it('lets the files of the operator wait for no check', async () => {
  const thread = createCheckThread(systemClock);
  const order: string[] = [];
  await Promise.all([
    thread.run('acme', LONG).then(() => order.push('check')),
    thread.loadAtOnce(small).then(() => order.push('reload')),
  ]);
  expect(order).toEqual(['reload', 'check']);
  await thread.stop();
});

it('ends a job that takes too much processor time with an error, and goes on with the next', async () => {
  const thread = createCheckThread(systemClock, { maxCpuMs: 20 });
  const endless = thread.run('acme', LONG);
  await expect(endless).rejects.toMatchObject({
    code: 'invalid-request',
    message: expect.stringContaining('seconds of processor time'),
  });
  const idle = createCheckThread(systemClock);
  expect(await idle.run('acme', small)).toMatchObject({ kind: 'read' });
});

it.each([
  ['wrong items in one line', (count: number) => withTargets('0,'.repeat(count))],
  ['wrong items in lines of their own', (count: number) => withTargets('\n0,'.repeat(count))],
  [
    'targets nobody has, in an item that is sent',
    (count: number) => described({ targets: Array.from({ length: count }, (_, index) => `t${index}`) }),
  ],
  [
    'unknown keys',
    (count: number) =>
      withTargets(`{ id: a, type: webhook, ${Array.from({ length: count }, (_, index) => `k${index}: 1`)} }`),
  ],
])('takes time that grows with the text only, for %s', async (_, make) => {
  performJob(make(2000));
  const few = await cpuMsOf(() => performJob(make(2000)));
  const many = await cpuMsOf(() => performJob(make(16_000)));
  // Eight times as much text; a cost by problems times length would be over sixty times.
  expect(many).toBeLessThan(30 * Math.max(few, 10));
});

it('refuses a text that no setting may hold before it is written anywhere', () => {
  expect(performJob(described({ description: 'x'.repeat(3_000_000) }))).toMatchObject({
    kind: 'refused',
    code: 'invalid-request',
    problems: [{ path: 'description', message: expect.stringContaining('262144 at most') }],
  });
});
