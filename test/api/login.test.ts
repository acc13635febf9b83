import { afterEach, expect, it } from 'vitest';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';

let server: ApiServer | undefined;

afterEach(() => server?.stop());

async function start(api: object): Promise<ApiServer> {
  server = await startApiServer({ settings: { api } });
  return server;
}

async function login(at: ApiServer, username: string, password: string) {
  const body = JSON.stringify({ username, password });
  const answer = await at.call('POST', '/api/v1/auth/login', { headers: [JSON_BODY], body });
  return { http: answer.status, headers: answer.headers, ...JSON.parse(answer.text) };
}

it('answers the same to a wrong password and to a name nobody has', async () => {
  const at = await start({ loginRateLimit: '1000/second' });
  const [wrong, unknown] = [await login(at, 'admin', 'wrong'), await login(at, 'nobody', 'wrong')];
  const { requestId: _first, headers: _one, ...wrongBody } = wrong;
  const { requestId: _second, headers: _other, ...unknownBody } = unknown;
  expect(wrongBody).toEqual(unknownBody);
  expect(wrongBody).toMatchObject({ http: 401, status: 'error', code: 'unauthenticated' });
  expect(at.log()).not.toContain('wrong"');
});

// One more than the limit: the first attempt of a user who logged in here before waits for no failures of the address.
it('answers 429 with Retry-After to further guesses, be they in parallel', async () => {
  const at = await start({ loginRateLimit: '2/hour' });
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, guess) => login(at, 'admin', `guess ${guess}`)),
  );
  const limited = answers.filter(({ http }) => http === 429);
  expect([limited.length, answers.filter(({ http }) => http === 401).length]).toEqual([7, 3]);
  for (const { code, headers } of limited) {
    expect(code).toBe('rate-limited');
    expect(headers['retry-after']).toMatch(/^[1-5]$/);
  }
});

it('lets nobody lock out whoever is logged in: tokens go on to work', async () => {
  const at = await start({ loginRateLimit: '1/hour' });
  await login(at, 'admin', 'wrong');
  expect((await login(at, 'admin', ADMIN_PASSWORD)).http).toBe(429);
  expect((await at.call('GET', '/api/v1/notifications')).status).toBe(200);
});

it('refuses a token whose time is over', async () => {
  const at = await start({ authTokenTTL: 1 });
  await until(
    async () => (await at.call('GET', '/api/v1/notifications')).status === 401,
    'the end of the token',
  );
  const answer = await at.call('GET', '/api/v1/notifications');
  expect(JSON.parse(answer.text).message).toContain('expired');
});

it('trims names and does not mind their case', async () => {
  const at = await start({});
  expect((await login(at, ' ADMIN ', ADMIN_PASSWORD)).http).toBe(200);
  expect((await login(at, 'x'.repeat(300), ADMIN_PASSWORD)).http).toBe(400);
  expect((await login(at, 'admin', 'x'.repeat(300))).http).toBe(401);
});

it('reads no more from a stranger than a name and a password can take', async () => {
  const at = await start({ loginRateLimit: '1000/second' });
  const nested = '['.repeat(20_000);
  const answer = await at.call('POST', '/api/v1/auth/login', { headers: [JSON_BODY], body: nested });
  expect([answer.status, JSON.parse(answer.text).code]).toEqual([413, 'body-too-large']);
  expect((await login(at, 'admin', '\u{1f600}'.repeat(256))).http).toBe(401);
});

it('makes guesses at one password wait, known name or not, and says for how long', async () => {
  const at = await start({ loginRateLimit: '1000/second', loginBackOff: { after: 3, longest: '5m' } });
  // Each wait is twice as long as the one before: however slow the machine, some guess comes too early.
  const guesses = async (name: string) => {
    const answers = [];
    for (let guess = 0; guess < 12 && answers.at(-1)?.http !== 429; guess++)
      answers.push(await login(at, name, `guess ${guess}`));
    return answers;
  };
  const [known, unknown] = [await guesses('admin'), await guesses('nobody')];
  for (const answers of [known, unknown]) {
    expect(answers.slice(0, 3).map(({ http }) => http)).toEqual([401, 401, 401]);
    expect(answers.at(-1)?.http).toBe(429);
    expect(Number(answers.at(-1)?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  }
  const body = (answers: typeof known) => ({ ...answers.at(-1), requestId: '', headers: '' });
  expect(body(known)).toEqual(body(unknown));
});
