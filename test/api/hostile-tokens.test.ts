import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LoginService } from '../../src/app/deployments/login-service.ts';
import { strangeTo } from '../helpers/naming.ts';
import { openTenants, type Tenants } from '../helpers/tenants.ts';
import { basic, errorOf, FORM_TYPE, JSON_TYPE, poster, tokenRequest } from '../helpers/token-calls.ts';

let tenants: Tenants;
let service: LoginService;
let post: ReturnType<typeof poster>;
let client: Awaited<ReturnType<Tenants['credential']>>;

beforeAll(async () => {
  tenants = await openTenants({ tokenRateLimit: { perSecond: 0 }, api: { loginBackOff: { after: 0 } } });
  service = await tenants.serve();
  post = poster(service.url);
  client = await tenants.credential();
});
afterAll(async () => {
  await service.stop();
  await tenants.close();
});

const json = () => JSON.stringify(tokenRequest(client));
const form = () => new URLSearchParams(tokenRequest(client)).toString();
const inJson = (members: string): string => json().replace(/^\{/, `{${members},`);
const INVALID = [400, 'invalid_request'];

it.each([
  ['a member twice', () => inJson('"client_id":"x"')],
  ['a member twice, once escaped', () => inJson('"client\\u005fid":"x"')],
  ['__proto__', () => inJson('"__proto__":"x"')],
  ['a prototype by way of constructor', () => inJson('"constructor":{"prototype":{"client_id":"x"}}')],
  ['a nested object', () => inJson('"a":{}')],
  ['a list', () => inJson('"a":["x"]')],
  ['a number', () => inJson('"a":1')],
  ['null', () => inJson('"a":null')],
  ['a list of requests', () => `[${json()}]`],
  ['a text', () => '"grant_type"'],
  ['half of it', () => json().slice(0, -1)],
  ['something after it', () => `${json()}{}`],
  ['a text that is no UTF-8', () => Uint8Array.from([...Buffer.from('{"a":"'), 0xff, ...Buffer.from('"}')])],
])('JSON with %s is refused', async (_, body) => {
  expect(errorOf(await post(body()))).toEqual(INVALID);
});

it.each([
  ['a parameter twice', () => `${form()}&client_id=x`],
  ['a parameter twice, once escaped', () => `${form()}&client%5Fid=x`],
  ['a parameter twice, once empty', () => `${form()}&client_id=`],
  ['__proto__', () => `${form()}&__proto__=x`],
  ['an escape that is none', () => `${form()}&a=%zz`],
  ['an escape that is no UTF-8', () => `${form()}&a=%ff`],
])('a form with %s is refused', async (_, body) => {
  expect(errorOf(await post(body(), { type: FORM_TYPE }))).toEqual(INVALID);
});

it('what is over 8 KiB is refused, and what is just not is read', async () => {
  const filled = (bytes: number) => `${json()}${' '.repeat(bytes - Buffer.byteLength(json()))}`;
  expect((await post(filled(8192))).status).toBe(200);
  const over = await post(filled(8193));
  expect(errorOf(over)).toEqual([413, 'invalid_request']);
});

it.each([
  'text/plain',
  'application/json; charset=utf-16',
  'application/x-www-form-urlencoded; charset=iso-8859-1',
  'multipart/form-data; boundary=x',
  'application/jsonp',
])('a body of the type %s is refused', async type => {
  expect(errorOf(await post(json(), { type }))).toEqual([415, 'invalid_request']);
});

it('a client that is shown in two ways is refused', async () => {
  const { client_id: _, client_secret: __, ...bare } = tokenRequest(client);
  const other = await tenants.credential();
  for (const [body, shown] of [
    [tokenRequest(client), client],
    [{ ...bare, client_secret: client.clientSecret }, client],
    [{ ...bare, client_id: other.clientId }, client],
  ] as const)
    expect(errorOf(await post(body, { authorization: basic(shown) }))).toEqual(INVALID);
});

it.each(['Basic', 'Basic !', 'Basic YQ==', 'Basic Og==', 'basic YTpi YTpi', 'Basic JXp6OmI='])(
  'the header "%s" shows no client',
  async authorization => {
    const refused = await post({ grant_type: 'client_credentials' }, { authorization });
    expect(errorOf(refused)).toEqual([401, 'invalid_client']);
    expect(refused.headers.get('www-authenticate')).toMatch(/^Basic /);
  },
);

it('two Authorization headers are refused', async () => {
  const body = '{"grant_type":"client_credentials"}';
  const head = [
    'POST /oauth/token HTTP/1.1',
    'Host: localhost',
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${body.length}`,
    `Authorization: ${basic(client)}`,
    `Authorization: ${basic(client)}`,
    'Connection: close',
  ].join('\r\n');
  const answer = await new Promise<string>((resolve, reject) => {
    let text = '';
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => {
      socket.end(`${head}\r\n\r\n${body}`);
    });
    socket.on('data', part => {
      text += String(part);
    });
    socket.on('error', reject).on('close', () => resolve(text));
  });
  expect(answer).toMatch(/^HTTP\/1.1 400 /);
  expect(answer).toContain('invalid_request');
});

it('nothing that was sent comes back in a refusal', async () => {
  const marked = 'MARKED"\\<>';
  for (const body of [
    tokenRequest(client, { grant_type: marked }),
    tokenRequest(client, { audience: marked }),
    tokenRequest(client, { scope: marked }),
    tokenRequest({ clientId: marked, clientSecret: marked }),
    `{"${marked}`,
  ]) {
    const { text } = await post(body);
    expect(text).not.toContain('MARKED');
    expect(JSON.parse(text).error_description).toMatch(/^[\x20-\x7e]+$/);
  }
});

const quartile = (times: readonly number[], part: number): number =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length * part)] ?? 0;

it('an unknown client, a wrong secret and a disabled client take about the same time', async () => {
  const disabled = await tenants.credential({ enabled: false });
  const kinds = [
    () => ({ ...client, clientId: tenants.ids.next().replaceAll('-', '') }),
    () => ({ ...client, clientSecret: strangeTo(client.clientSecret) }),
    () => disabled,
  ];
  const times: number[][] = kinds.map(() => []);
  for (let round = 0; round < 160; round++)
    for (const [index, shown] of kinds.entries()) {
      const body = tokenRequest(shown());
      const begun = performance.now();
      const { status } = await post(body);
      if (round >= 10) times[index]?.push(performance.now() - begun);
      expect(status).toBe(401);
    }
  const quartiles = times.map(each => [quartile(each, 0.25), quartile(each, 0.75)] as const);
  for (const [, high] of quartiles)
    for (const [low] of quartiles) expect(low, JSON.stringify(quartiles)).toBeLessThan(high);
});
