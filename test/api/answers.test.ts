import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ContractAnswer, contractServer } from '../helpers/contract-server.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { type JsonAnswer, jsonCaller } from './json.ts';

const INGEST_TOKEN = 'token-of-the-custom-pipeline';
const TOKEN = 'tok-of-the-robot-4711';
const JUDGES = "status === 200 ? (json.errcode === 130101 ? 'later' : json.errcode === 0) : byStatus";

let answer: ContractAnswer;
let robot: Awaited<ReturnType<typeof contractServer>>;
let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeEach(async () => {
  answer = { status: 200, body: '{"errcode":0,"errmsg":"ok"}' };
  robot = await contractServer(() => answer);
  server = await startApiServer({
    settings: {
      pipelines: [{ id: 'own', engine: 'custom', push: true, token: INGEST_TOKEN }],
      delivery: { privateAddresses: 'allow' },
    },
    notifications: {
      targets: [
        {
          id: 'robot',
          type: 'webhook',
          url: `${robot.url}/robot/send`,
          authType: 'token',
          token: TOKEN,
          successExpression: JUDGES,
        },
      ],
      notifications: [
        { id: 'n', condition: 'search', targets: ['robot'], conf: { savedQueryId: 'q', message: 'm' } },
      ],
    },
  });
  call = jsonCaller(server);
});

afterEach(async () => {
  await server.stop();
  await robot.stop();
});

async function alarm(state: 'ALARM' | 'OK' = 'ALARM'): Promise<void> {
  const sent = await server.call('POST', '/ingest/events', {
    headers: [['authorization', `Bearer ${INGEST_TOKEN}`], JSON_BODY],
    body: JSON.stringify([{ condition: 'search', key: 'q', state }]),
  });
  expect(sent.status).toBe(200);
}

const health = async (): Promise<JsonAnswer['body']> =>
  (await call('GET', '/notification-targets/robot')).body.items[0].status;

/** The newest delivery, once it is in this state. */
async function delivery(state: string): Promise<JsonAnswer['body']> {
  let found: JsonAnswer['body'];
  await until(async () => {
    const [newest] = (await call('GET', '/deliveries')).body.items;
    found = newest;
    return newest?.state === state && newest.attempts > 0;
  }, `a delivery that is ${state}`);
  return (await call('GET', `/deliveries/${found.id}`)).body.items[0];
}

test('a test send to a receiver that answers 200 with a failure shows the failure, and no success', async () => {
  answer = { status: 200, body: '{"errcode":310000,"errmsg":"keywords not in content"}' };
  const refused = (await call('POST', '/notification-targets/robot/test', {})).body.items[0];
  expect(refused).toMatchObject({
    success: false,
    verdict: 'refused',
    response: { status: 200, body: answer.body },
  });
  expect(refused.reason).toContain('keywords not in content');
  answer = { status: 200, body: '{"errcode":0,"errmsg":"ok"}' };
  expect((await call('POST', '/notification-targets/robot/test', {})).body.items[0]).toMatchObject({
    success: true,
    response: { status: 200, body: answer.body },
  });
});

test('a delivery that is refused in an answer of 200 is refused, and its target is Red', async () => {
  answer = { status: 200, body: '{"errcode":310000,"errmsg":"keywords not in content"}' };
  await alarm();
  const refused = await delivery('refused');
  expect(refused.lastError).toContain('keywords not in content');
  expect(refused.log).toMatchObject([{ outcome: 'refused', status: 200, answer: answer.body }]);
  await until(async () => (await health()).health === 'Red');
});

test('the answer to a delivery that arrived is kept, without the secret it repeats', async () => {
  answer = { status: 200, body: `{"errcode":0,"for":"${TOKEN}","more":"${'x'.repeat(10_000)}"}` };
  await alarm();
  const { log } = await delivery('sent');
  expect(log).toMatchObject([{ number: 1, outcome: 'sent', status: 200 }]);
  expect(log[0].answer).toMatch(/^\{"errcode":0,"for":"\*{8}","more":"x+$/);
  expect(log[0].answer).toHaveLength(2048);
});

test('an answer that the expression cannot judge is judged by its status, and the target is Yellow until one can be', async () => {
  await call('PATCH', '/notification-targets/robot', { successExpression: 'json.errcode' });
  await alarm();
  await delivery('sent');
  const warning = expect.stringContaining('successExpression: it gives a number');
  await until(async () => (await health()).health === 'Yellow');
  expect(await health()).toMatchObject({ health: 'Yellow', warning });
  expect(server.log()).toContain('successExpression: it gives a number, and not true, false or');
  await call('PATCH', '/notification-targets/robot', { successExpression: 'json.errcode === 0' });
  expect(await health()).toEqual({ health: 'Green' });
});

test('an expression on an answer may name what an answer has, and nothing else', async () => {
  const wrong = await call('PATCH', '/notification-targets/robot', {
    successExpression: 'json.ok && stauts === 200',
  });
  expect(wrong.status).toBe(400);
  expect(wrong.text).toContain("unknown variable 'stauts'; did you mean 'status'?");
});
