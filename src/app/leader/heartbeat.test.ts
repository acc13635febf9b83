import { expect, it, onTestFinished } from 'vitest';
import { settle, testClock } from '../../../test/helpers/clock.ts';
import { noHttp } from '../../../test/helpers/no-http.ts';
import type { HttpClient } from '../../lib/http/client.ts';
import { type Logger, silentLogger } from '../../lib/logger.ts';
import { sendHeartbeats, whyStalled } from './heartbeat.ts';

const URL = 'https://watch.example/ping/s3cret';

function world({ hasUrl = true } = {}) {
  const clock = testClock();
  const asked: string[] = [];
  const logged: string[] = [];
  const note = (fields: object, message: string): void =>
    void logged.push(JSON.stringify({ ...fields, message }));
  const logger: Logger = { ...silentLogger, error: note, info: note, child: () => logger };
  const facts: { reason?: string | undefined; status: number } = { status: 200 };
  const http: HttpClient = {
    ...noHttp,
    async request(request) {
      asked.push(`${request.method} ${request.url}`);
      return { status: facts.status, headers: {}, body: Buffer.alloc(0), truncated: false };
    },
  };
  const stop = sendHeartbeats({
    url: () => (hasUrl ? URL : undefined),
    stalled: () => facts.reason,
    http,
    clock,
    logger,
  });
  onTestFinished(stop);
  return { clock, asked, logged, facts, stop };
}

it('asks the url at once and then every half minute, while everything advances', async () => {
  const { clock, asked } = world();
  expect(asked).toEqual([`GET ${URL}`]);
  await clock.advance(29_000);
  expect(asked).toHaveLength(1);
  await clock.advance(1000);
  await clock.advance(30_000);
  expect(asked).toHaveLength(3);
});

it('is silent while something is stalled, says what in the log once, and goes on when that is over', async () => {
  const { clock, asked, logged, facts } = world();
  facts.reason = 'notifications are not evaluated';
  await clock.advance(90_000);
  expect(asked).toHaveLength(1);
  expect(logged).toEqual([expect.stringContaining('"reason":"notifications are not evaluated"')]);
  facts.reason = undefined;
  await clock.advance(30_000);
  expect(asked).toHaveLength(2);
});

it('asks nobody without a url', async () => {
  const { clock, asked, logged } = world({ hasUrl: false });
  await clock.advance(60_000);
  expect([asked, logged]).toEqual([[], []]);
});

it('tells the log of a refusal, and not what the url holds', async () => {
  const { clock, logged, facts } = world();
  facts.status = 404;
  await clock.advance(60_000);
  expect(logged).toEqual([expect.stringContaining('the answer was 404')]);
  expect(logged.join()).not.toContain('s3cret');
  facts.status = 200;
  await clock.advance(30_000);
  expect(logged.at(-1)).toContain('sent again');
});

it('asks nobody any more once it is stopped', async () => {
  const { clock, asked, stop } = world();
  await stop();
  await clock.advance(90_000);
  await settle();
  expect(asked).toHaveLength(1);
});

it.each([
  ['nothing while both advance', 15_000, 5 * 60_000, undefined],
  ['evaluations that ended', 15_001, 0, 'notifications are not evaluated'],
  ['deliveries that have been due for minutes', 0, 5 * 60_000 + 1, 'deliveries to hook do not move'],
])('calls stalled: %s', async (_, sinceEvaluation, overdueMs, reason) => {
  const clock = testClock();
  const evaluatedAt = clock.monotonic();
  await clock.advance(sinceEvaluation);
  const engine = { evaluatedAt: () => evaluatedAt };
  const dispatcher = { mostOverdue: () => ({ target: 'hook', overdueMs }) };
  expect(whyStalled({ engine, dispatcher, clock })).toBe(reason);
});
