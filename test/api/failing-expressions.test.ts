import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { settingsAt } from '../../src/targets/declarations.ts';
import { targetTypes } from '../../src/targets/index.ts';
import { snsService } from '../helpers/sns.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';

/** Each throws when `count` is 0, within the bounds of an expression or beyond them; samples of `check` have no count. */
const FAILING = [
  "'x'.padEnd(1 / count)",
  "'x'.padStart(1 / count, 'ab')",
  "'x'.repeat(1 / count)",
  "'x'.repeat(1073741824)",
  "'ab'.replaceAll('', 'x'.repeat(60000))",
  'list.concat(list).map(a => list.map(b => list.map(c => json([a, b, c]))))',
  'none.trim()',
  'count.toFixed(200).trim().none.trim()',
  'matches(json(list.map(a => list)), "(a+)+$")',
  `${'['.repeat(150)}list${']'.repeat(150)}.join(json(list.map(a => list.map(b => json(list)))))`,
  "list.map(a => 'x'.padEnd(65536))",
];
const whenZero = (failing: string): string => `count == 0 ? (${failing}) : 'x'`;
/** The same over an answer of 200, which has other fields than an event. */
const overAnswer = (failing: string): string =>
  failing
    .replaceAll(/\bcount\b/g, '(status - 200)')
    .replaceAll(/\b(list|none)\b/g, field => `headers.${field}`)
    .replaceAll('.headers.', '.');
const TOKEN = 'token-of-the-custom-pipeline';
const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:alerts.fifo';

let hook: Server;
let hookUrl: string;
let bodies: string[] = [];
let server: ApiServer | undefined;
let published: readonly { readonly groupId: string | undefined }[];

/** Settings of each type of target that has texts, all of them failing. */
const targetsFor = (failing: string, at: number, sns: string): readonly object[] => [
  {
    id: `hook_${at}`,
    type: 'webhook',
    url: `${hookUrl}\${${failing}}/?place=\${${failing}}`,
    resolveUrl: `${hookUrl}ends/\${${failing}}`,
    format: 'custom',
    srcExpression: failing,
    resolveExpression: failing,
    customDropWhenNull: true,
    customContentType: 'text/plain',
    customPayloadExpression:
      "matches(events, 'test') ? events : events.length > 0 ? events.none.trim() : events",
    successExpression: overAnswer(failing),
  },
  { id: `bell_${at}`, type: 'bulletin_message', message: `\${${failing}}` },
  {
    id: `router_${at}`,
    type: 'router',
    routes: [
      { filter: failing, output: `bell_${at}` },
      { filter: 'true', output: `hook_${at}` },
    ],
  },
  {
    id: `queue_${at}`,
    type: 'sns',
    endpoint: sns,
    region: 'eu-west-1',
    awsAuthenticationMethod: 'manual',
    awsApiKey: 'AKIA',
    awsSecretKey: 'secret',
    destinationType: 'topic',
    topicArn: TOPIC,
    topicType: 'fifo',
    messageGroupId: failing,
  },
];

beforeAll(async () => {
  hook = createServer((request, response) => {
    let body = '';
    request.on('data', chunk => {
      body += chunk;
    });
    request.on('end', () => {
      bodies.push(body);
      response.end();
    });
  });
  await new Promise<void>(resolve => hook.listen(0, '127.0.0.1', resolve));
  const address = hook.address();
  hookUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
});

afterAll(async () => {
  await server?.stop();
  hook.close();
});

it('takes an event whatever its texts throw, in every setting, and delivers it', async () => {
  const service = await snsService({ keys: { AKIA: 'secret' } });
  ({ published } = service);
  const failing = FAILING.map(whenZero);
  const targets = failing.flatMap((text, at) => targetsFor(text, at, service.url));
  const declared = targetTypes.filter(({ templates }) => templates.length > 0);
  for (const { type, templates } of declared)
    for (const { path } of templates) {
      const settings = targets.find(target => 'type' in target && target.type === type);
      expect(
        settingsAt(settings, path).length,
        `${type} ${path.map(String).join('.')} is not tried here`,
      ).toBeGreaterThan(0);
    }
  const started = await startApiServer({
    settings: {
      pipelines: [{ id: 'own', engine: 'custom', push: true, token: TOKEN }],
      delivery: { privateAddresses: 'allow' },
    },
    notifications: {
      targets,
      notifications: failing.map((text, at) => ({
        id: `search_${at}`,
        condition: 'search',
        targets: [`router_${at}`, `bell_${at}`, `queue_${at}`],
        conf: { savedQueryId: `q${at}`, message: `\${${text}} is it` },
        metadata: [{ name: 'team', value: text }],
        groupBy: ['team'],
        groupWait: '0s',
      })),
    },
  });
  server = started;
  const list = Array.from({ length: 1000 }, (_, n) => n);
  const answer = await started.call('POST', '/ingest/events', {
    headers: [['authorization', `Bearer ${TOKEN}`], JSON_BODY],
    body: JSON.stringify(
      FAILING.map((_, at) => ({
        condition: 'search',
        key: `q${at}`,
        state: 'ALARM',
        fields: { count: 0, list },
      })),
    ),
  });
  expect(answer).toMatchObject({ status: 200, text: JSON.stringify({ accepted: FAILING.length }) });
  await until(async () => bodies.length >= FAILING.length, 'the webhooks');
  await until(async () => published.length >= FAILING.length, 'the topics');
  for (const at of FAILING.keys()) {
    expect(bodies.some(body => body.includes(`"search_${at}"`))).toBe(true);
    expect(published.some(({ groupId }) => groupId === `search_${at}`)).toBe(true);
    // What is found in an answer is logged after the receiver has given it.
    for (const setting of [
      'message',
      'metadata.team',
      'routes[0].filter',
      'srcExpression',
      'url',
      'successExpression',
      'messageGroupId',
    ])
      await until(
        () =>
          new RegExp(`_${at}"[^\\n]*"reason":"${setting.replace(/[[\].]/g, '\\$&')}: [^\\n]*failed`).test(
            started.log(),
          ),
        `${setting} of ${at} in the log`,
      );
  }
  const metrics = (await started.call('GET', '/metrics')).text;
  expect(metrics).toMatch(/headgate_expression_failures_total [1-9]/);
  bodies = [];
});
