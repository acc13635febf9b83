import { afterEach, expect, it } from 'vitest';
import { until } from '../helpers/until.ts';
import { addedUser } from '../helpers/users.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

let server: ApiServer | undefined;

afterEach(() => server?.stop());

const PUSH_TOKEN = 'token-of-a-pipeline';

/** A limit so slow that no test is long enough to see a second token come. */
async function start(burst: number, settings: object = {}): Promise<ApiServer> {
  server = await startApiServer({
    settings: {
      api: { rateLimit: { perSecond: 1, burst }, loginRateLimit: '1000/second' },
      pipelines: [{ id: 'edge', engine: 'custom', push: true, token: PUSH_TOKEN }],
      ...settings,
    },
  });
  return server;
}

const together = async (
  at: ApiServer,
  count: number,
  headers?: readonly (readonly [string, string])[],
  path = '/api/v1/auth/me',
) => Promise.all(Array.from({ length: count }, () => at.call('GET', path, headers ? { headers } : {})));

const countOf = (answers: readonly { readonly status: number }[], status: number): number =>
  answers.filter(answer => answer.status === status).length;

const bearer = (token: string) => [['authorization', `Bearer ${token}`]] as const;

it('answers a user 429 with Retry-After beyond the burst, and other users as before', async () => {
  const at = await start(20);
  const reader = await addedUser(at, 'calm', { roles: ['reader'] });
  const answers = await together(at, 100);
  const limited = answers.filter(({ status }) => status === 429);
  expect(limited.length).toBeGreaterThan(60);
  expect(countOf(answers, 200) + limited.length).toBe(100);
  for (const { headers, text } of limited) {
    expect(headers['retry-after']).toBe('1');
    expect(JSON.parse(text)).toMatchObject({ status: 'error', code: 'rate-limited' });
  }
  expect((await reader.call('GET', '/auth/me')).status).toBe(200);
});

it('counts all tokens of a user together', async () => {
  const at = await start(20);
  const reader = await addedUser(at, 'many', { roles: ['reader'] });
  await together(at, 100);
  const again = await at.call('POST', '/api/v1/auth/login', {
    headers: [JSON_BODY],
    body: JSON.stringify({ username: 'admin', password: 'a password for the tests' }),
  });
  const other = await together(at, 60, [['authorization', JSON.parse(again.text).token]]);
  expect(countOf(other, 429)).toBeGreaterThan(30);
  expect((await reader.call('GET', '/auth/me')).status).toBe(200);
});

it.each([
  ['no token', []],
  ['a token nobody has issued', bearer('x'.repeat(40))],
])(
  'slows an address down that sends %s, without holding up good tokens from there',
  async (_what, headers) => {
    const at = await start(20);
    const answers = await together(at, 60, headers);
    expect(countOf(answers, 429)).toBeGreaterThan(30);
    expect(countOf(answers, 401) + countOf(answers, 429)).toBe(60);
    expect(countOf(await together(at, 5), 200)).toBe(5);
  },
);

it('slows an address down that guesses tokens of pipelines, and takes what has a good one at any rate', async () => {
  const at = await start(20);
  const push = (token: string) =>
    at.call('POST', '/ingest/samples', {
      headers: [JSON_BODY, ...bearer(token)],
      body: JSON.stringify({ instance: 'a', temporality: 'delta', samples: [] }),
    });
  const guesses = await Promise.all(Array.from({ length: 60 }, (_, guess) => push(`guess-number-${guess}`)));
  expect(countOf(guesses, 429)).toBeGreaterThan(30);
  expect(countOf(guesses, 401) + countOf(guesses, 429)).toBe(60);
  const good = await Promise.all(Array.from({ length: 100 }, () => push(PUSH_TOKEN)));
  expect(countOf(good, 200)).toBe(100);
});

it('slows an address down that guesses cookies', async () => {
  const at = await start(20);
  const answers = await together(at, 60, [['cookie', `sid=${'x'.repeat(43)}`]], '/session');
  expect(countOf(answers, 429)).toBeGreaterThan(30);
});

it.each(['/api/v1/health', '/metrics'])('always answers %s', async path => {
  const at = await start(5);
  expect(countOf(await together(at, 60, [], path), 200)).toBe(60);
});

it('takes up another limit without a restart, and 0 as none', async () => {
  const at = await start(20);
  await until(async () => {
    const answer = await jsonCaller(at)('PATCH', '/system/settings/conf', {
      api: { rateLimit: { perSecond: 0 } },
    });
    return answer.status === 200;
  }, 'the change of settings');
  expect(countOf(await together(at, 100), 200)).toBe(100);
  expect(countOf(await together(at, 60, []), 401)).toBe(60);
});

it('has refused tokens of pipelines and streams that may not be heard in the audit', async () => {
  const at = await start(1000);
  const nobody = await addedUser(at, 'deaf', { roles: ['user'] });
  expect((await nobody.call('GET', '/stream')).status).toBe(403);
  expect((await at.call('GET', '/api/v1/stream', { headers: bearer('x'.repeat(40)) })).status).toBe(401);
  const answer = await at.call('POST', '/ingest/events', {
    headers: [JSON_BODY, ...bearer('not-a-token')],
    body: '{}',
  });
  expect(answer.status).toBe(401);
  const entries = async (action: string) =>
    (await jsonCaller(at)('GET', `/audit?action=${action}&result=refused`)).body.items;
  await until(
    async () =>
      (await Promise.all(['events.stream', 'auth.token', 'ingest.token'].map(entries))).every(
        list => list.length === 1,
      ),
    'the refusals in the audit',
  );
  expect((await entries('events.stream'))[0]).toMatchObject({ actor: 'deaf', reason: 'forbidden' });
  expect(JSON.stringify(await entries('ingest.token'))).not.toContain('not-a-token');
});
