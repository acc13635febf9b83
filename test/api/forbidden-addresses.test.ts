import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contractServer } from '../helpers/contract-server.ts';
import { until } from '../helpers/until.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const KEY = '0123456789abcdef0123456789abcdef';
const SMTP = { type: 'smtp', port: 25, from: 'a@b.example', smtpUsername: '', smtpPassword: '' };
const TOPIC = {
  type: 'sns',
  region: 'eu-west-1',
  destinationType: 'topic',
  topicArn: 'arn:aws:sns:eu-west-1:1:t',
  messageGroupId: '',
  awsAuthenticationMethod: 'manual',
  awsApiKey: 'AKIDEXAMPLE0000001',
  awsSecretKey: 'the-secret-key',
};

/** Every kind of target that connects to somewhere, by the setting that says where to. */
const targetsAt = (host: string, port = 443) =>
  [
    ['url', { type: 'webhook', url: `https://${host}:${port}/in` }],
    ['slackUrl', { type: 'slack', slackUrl: `https://${host}:${port}/services/T0/B0/K0` }],
    ['url', { type: 'pager_duty', routingKey: KEY, severity: 'error', url: `https://${host}:${port}/v2` }],
    ['endpoint', { ...TOPIC, endpoint: `https://${host}:${port}/` }],
    ['host', { ...SMTP, host, port }],
  ] as const;

/** This machine and its network, in the ways it can be written. */
const INSIDE = [
  '127.0.0.1',
  '127.1',
  '0x7f.1',
  '0x7f000001',
  '2130706433',
  '0177.0.0.1',
  '10.0.0.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b::10.0.0.1]',
  '[2002:7f00:1::]',
  '[2001:0:4136:e378:8000:63bf:80ff:fffe]',
];
/** Where clouds hand out credentials. */
const METADATA = [
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '0251.0376.0251.0376',
  '169.254.43518',
  '[::ffff:169.254.169.254]',
  '[::169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[2002:a9fe:a9fe::]',
  '[2001:0:4136:e378:8000:63bf:5601:5601]',
  '[fd00:ec2::254]',
  '[fe80::1]',
];

describe.each([
  ['refused', { privateAddresses: 'refuse' }, [...INSIDE, ...METADATA]],
  ['open to the last', { privateAddresses: 'allow', allowedAddresses: ['0.0.0.0/0', '::/0'] }, METADATA],
])('where private addresses are %s', (_, delivery, hosts) => {
  let server: ApiServer;
  let call: ReturnType<typeof jsonCaller>;
  beforeAll(async () => {
    server = await startApiServer({
      settings: { delivery, instance: { externalUrl: 'https://headgate.example' } },
    });
    call = jsonCaller(server);
  });
  afterAll(() => server.stop());

  it.each(hosts)('nothing that leads to %s can be saved, or tested', async host => {
    for (const [path, target] of targetsAt(host)) {
      const saved = await call('POST', '/notification-targets', { id: 'inside', ...target });
      expect([target.type, saved.status, saved.body.errors?.[0]?.path]).toEqual([target.type, 400, path]);
    }
    const tested = await call('POST', '/notification-targets/inside/test', {
      target: { type: 'webhook', url: `https://${host}/in` },
    });
    expect(tested.status).toBe(400);
    const openid = { issuer: `https://${host}`, client_id: 'c', client_secret: 's', scope: 'openid' };
    for (const [path, change] of [
      ['auth.openid.issuer', { auth: { type: 'openid', openid } }],
      ['pipelines[0].url', { pipelines: [{ id: 'p', engine: 'vector', url: `http://${host}/metrics` }] }],
    ] as const) {
      const { status, body } = await call('PATCH', '/system/settings/conf', change);
      expect([status, body.errors[0].path]).toEqual([400, path]);
    }
  });

  it('and no address that holds a user or no host', async () => {
    for (const host of ['user:pass@hooks.example', 'user@169.254.169.254', '[example.com]', '[::1', ' '])
      for (const [path, target] of targetsAt(host)) {
        const saved = await call('POST', '/notification-targets', { id: 'inside', ...target });
        expect([host, target.type, saved.status, saved.body.errors?.[0]?.path]).toEqual([
          host,
          target.type,
          400,
          path,
        ]);
      }
  });
});

/** Listens on loopback and counts who comes. */
async function trap() {
  let connections = 0;
  const listener = createServer(socket => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>(resolve => listener.listen(0, 'localhost', resolve));
  const address = listener.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { port, connections: () => connections, close: () => listener.close() };
}

it('connects to no private address although a name that was saved leads there', async () => {
  const inside = await trap();
  const { port } = inside;
  const targets = targetsAt('localhost', port).map(([, target]) => ({ ...target, id: target.type }));
  const routes = targets.map(({ id }) => ({ filter: 'true', output: id, final: false }));
  const server = await startApiServer({
    settings: {
      delivery: { privateAddresses: 'refuse' },
      auth: { openid: { issuer: `https://localhost:${port}`, client_id: 'c', client_secret: 's' } },
      pipelines: [
        { id: 'pulled', engine: 'vector', url: `http://localhost:${port}/metrics`, interval: '1s' },
        { id: 'own', engine: 'custom', push: true, token: 'token-of-the-pipeline' },
      ],
    },
    notifications: {
      targets: [...targets, { id: 'by_rule', type: 'router', routes }],
      notifications: [
        {
          id: 'posted',
          condition: 'monitor-alerts',
          targets: ['by_rule'],
          targetConfigs: [{ id: 'smtp', conf: { emailRecipient: { to: 'ops@shop.example' } } }],
          conf: {},
        },
      ],
    },
  });
  try {
    const call = jsonCaller(server);
    const refusal = expect.stringContaining('not public');
    for (const { id } of targets) {
      const { body } = await call('POST', `/notification-targets/${id}/test`, {
        testEmails: ['ops@shop.example'],
      });
      expect([id, body.items[0]]).toMatchObject([
        id,
        { success: false, verdict: 'refused', reason: refusal },
      ]);
    }
    const routed = await call('POST', '/notification-targets/by_rule/test', {
      testEmails: ['ops@shop.example'],
    });
    expect(routed.body.items[0].outputs).toHaveLength(targets.length);
    for (const output of routed.body.items[0].outputs)
      expect(output).toMatchObject({ success: false, verdict: 'refused', reason: refusal });

    const headers = [
      ['authorization', 'Bearer token-of-the-pipeline'],
      ['content-type', 'application/json'],
    ] as const;
    const event = JSON.stringify({ condition: 'monitor-alerts', key: 'cpu', state: 'ALARM' });
    expect((await server.call('POST', '/ingest/events', { headers, body: event })).status).toBe(200);
    await until(async () => {
      const { body } = await call('GET', '/deliveries?state=refused');
      return body.items.length === targets.length;
    }, 'the end of each delivery');
    for (const { lastError } of (await call('GET', '/deliveries?state=refused')).body.items)
      expect(lastError).toEqual(refusal);

    await until(async () => {
      const { body } = await call('GET', '/system/engines');
      return body.items[0].state === 'unreachable';
    }, 'the page that cannot be read');
    const signIn = await server.call('GET', '/session/sso', { headers: [] });
    expect(signIn.headers.location).not.toContain('localhost');
    expect(inside.connections()).toBe(0);
  } finally {
    await server.stop();
    inside.close();
  }
});

it('follows no redirect to an address that a target may not have, nor to any other', async () => {
  const inside = await trap();
  const elsewhere = `http://127.0.0.1:${inside.port}/latest/meta-data`;
  const outside = await contractServer(() => ({ status: 302, headers: { location: elsewhere }, body: '' }));
  const targets = targetsAt('127.0.0.1', Number(new URL(outside.url).port)).flatMap(([, target]) =>
    target.type === 'smtp' ? [] : [{ ...target, id: target.type }],
  );
  const plain = JSON.parse(JSON.stringify(targets).replaceAll('https://', 'http://'));
  const server = await startApiServer({
    settings: {
      pipelines: [{ id: 'pulled', engine: 'vector', url: `${outside.url}/metrics`, interval: '1s' }],
    },
    notifications: { targets: plain },
  });
  try {
    const call = jsonCaller(server);
    for (const { id } of targets) {
      const { body } = await call('POST', `/notification-targets/${id}/test`, {});
      expect([id, body.items[0]]).toMatchObject([id, { success: false, verdict: 'refused' }]);
      expect(outside.received.some(one => one.method === 'POST')).toBe(true);
    }
    await until(
      async () => (await call('GET', '/system/engines')).body.items[0].state === 'unreachable',
      'the page that is elsewhere',
    );
    expect(inside.connections()).toBe(0);
  } finally {
    await server.stop();
    await outside.stop();
    inside.close();
  }
});
