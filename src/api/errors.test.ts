import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { AppError } from '../lib/errors.ts';
import { silentLogger } from '../lib/logger.ts';
import { createErrorWriter } from './errors.ts';

function serverThat(fails: () => Error) {
  const clock = testClock();
  const logged: string[] = [];
  const note = (fields: object, message: string) => void logged.push(JSON.stringify({ ...fields, message }));
  const server = fastify();
  server.setErrorHandler(createErrorWriter({ ...silentLogger, error: note, warn: note }, clock));
  server.get('/', () => {
    throw fails();
  });
  return { clock, logged, ask: () => server.inject('/') };
}

it.each([
  ['unavailable', 503],
  ['internal', 500],
] as const)('keeps the detail of %s for the log', async (code, status) => {
  const { ask, logged } = serverThat(() => new AppError(code, "the disk of '/srv/data' is full"));
  const answer = await ask();
  expect(answer.statusCode).toBe(status);
  expect(answer.body).not.toContain('/srv/data');
  expect(answer.json()).toMatchObject({ status: 'error', code });
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('/srv/data');
});

it.each([
  [undefined, '5'],
  [2, '2'],
  [10, '5'],
])('asks to come back within seconds when the cause says %s', async (retryAfterSeconds, expected) => {
  const details = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  const { ask } = serverThat(() => new AppError('unavailable', 'busy', details));
  expect((await ask()).headers['retry-after']).toBe(expected);
});

it('logs once in ten seconds that nobody can be answered', async () => {
  const { ask, clock, logged } = serverThat(() => new AppError('unavailable', 'busy'));
  for (let count = 0; count < 20; count++) await ask();
  expect(logged).toHaveLength(1);
  await clock.advance(10_000);
  await ask();
  expect(logged).toHaveLength(2);
});

it('says why in every other refusal', async () => {
  const { ask, logged } = serverThat(() => new AppError('conflict', 'the name is taken'));
  expect((await ask()).json()).toMatchObject({ code: 'conflict', message: 'the name is taken' });
  expect(logged).toEqual([]);
});
