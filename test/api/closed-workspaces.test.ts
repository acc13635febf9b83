import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isDestination, mapsFor } from '../../src/config/schema-walk.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { targetTypes } from '../../src/targets/index.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';
import { until } from '../helpers/until.ts';

const MAIN = 'main-acme';
const TOPIC = {
  ...{ type: 'sns', region: 'eu-west-1', destinationType: 'topic', messageGroupId: '' },
  ...{ topicArn: 'arn:aws:sns:eu-west-1:1:t', awsAuthenticationMethod: 'manual' },
  ...{ awsApiKey: 'AKIDEXAMPLE0000001', awsSecretKey: 'the-secret-key', maxRetries: 0 },
};

/** Each setting that says where a type sends to, as an address of this machine. */
const DESTINATIONS: Readonly<Record<string, (host: string, port: number) => object>> = {
  'webhook.url': (host, port) => ({ type: 'webhook', url: `http://${host}:${port}/in` }),
  'slack.slackUrl': (host, port) => ({ type: 'slack', slackUrl: `https://${host}:${port}/services/T/B/K` }),
  'pager_duty.url': (host, port) => ({
    ...{ type: 'pager_duty', routingKey: '0123456789abcdef0123456789abcdef', severity: 'error' },
    url: `http://${host}:${port}/v2`,
  }),
  'sns.endpoint': (host, port) => ({ ...TOPIC, endpoint: `http://${host}:${port}` }),
  'smtp.host': (host, port) => ({
    ...{ type: 'smtp', host, port, from: 'a@b.example', smtpUsername: '', smtpPassword: '' },
  }),
};
/** Settings that name no host: parts of a name of AWS, a port, phones. */
const NO_HOST = ['sns.region', 'sns.destinationType', 'sns.topicArn', 'sns.phoneNumber', 'smtp.port'];

async function listening(server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, 'localhost', resolve));
  return (server.address() as AddressInfo).port;
}

describe('a workspace with the default settings of its installation', () => {
  let app: HostedApp;
  let connections = 0;
  const trap = createServer(socket => {
    connections++;
    socket.destroy();
  });
  let port: number;
  beforeAll(async () => {
    port = await listening(trap);
    app = await startHostedApp({ clock: systemClock, settings: { delivery: {} } });
  });
  afterAll(async () => {
    await app.stop();
    trap.close();
  });
  const call = (method: string, path: string, body: unknown) => app.api(MAIN, path, { method, body });

  it('has a case for every setting of a target that says where it sends', () => {
    const marked = targetTypes.flatMap(({ type, schema }) =>
      mapsFor(schema, {}).flatMap(({ shape }) =>
        Object.entries(shape).flatMap(([key, field]) => (isDestination(field) ? [`${type}.${key}`] : [])),
      ),
    );
    expect([...new Set(marked)].sort()).toEqual([...Object.keys(DESTINATIONS), ...NO_HOST].sort());
  });

  it.each(Object.entries(DESTINATIONS))('sends nothing inside by %s', async (setting, make) => {
    const id = setting.replace('.', '_');
    const literal = { id, ...make('127.0.0.1', port) };
    expect((await call('POST', '/notification-targets', literal)).status).toBe(400);
    const imported = await call('PUT', '/system/config/files', {
      files: { 'notifications.yml': JSON.stringify({ targets: [literal] }) },
    });
    expect([imported.status, JSON.stringify(imported.body)]).toEqual([
      400,
      expect.stringContaining('not public'),
    ]);
    expect((await call('POST', '/notification-targets', { id, ...make('localhost', port) })).status).toBe(
      200,
    );
    const tested = await call('POST', `/notification-targets/${id}/test`, { testEmails: ['a@b.example'] });
    expect(JSON.stringify(tested.body)).toContain('not public');
    expect(connections).toBe(0);
  });

  it('reads no pipeline inside, and takes none by import', async () => {
    const at = (host: string) => ({
      pipelines: [{ id: 'edge', engine: 'vector', url: `http://${host}:${port}/metrics`, interval: '1s' }],
    });
    for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]']) {
      const files = { 'headgate.yml': JSON.stringify(at(host)) };
      expect((await call('PUT', '/system/config/files', { files })).status).toBe(400);
    }
    const files = { 'headgate.yml': JSON.stringify(at('localhost')) };
    expect((await call('PUT', '/system/config/files', { files })).status).toBe(200);
    await until(async () => {
      const { body } = await app.api(MAIN, '/system/engines');
      return JSON.stringify(body).includes('not public');
    });
    expect(connections).toBe(0);
  });

  it.each([{ awsAuthenticationMethod: 'auto' }, { awsAuthenticationMethod: 'manual' }, {}])(
    'takes no target that signs as the process: %j',
    async method => {
      const { awsAuthenticationMethod, awsApiKey, awsSecretKey, ...rest } = TOPIC;
      const topic = { id: 'topic', ...rest, ...method };
      const files = { 'notifications.yml': JSON.stringify({ targets: [topic] }) };
      for (const [verb, path, body] of [
        ['POST', '/notification-targets', topic],
        ['PUT', '/system/config/files', { files }],
      ] as const) {
        const { status, body: answer } = await call(verb, path, body);
        expect([status, answer.message]).toEqual([400, expect.stringMatching(/'manual'.*'secret'/)]);
      }
      const { body } = await call('POST', '/system/config/check', { files });
      expect(JSON.stringify(body)).toMatch(/"ok":false.*'manual'.*'secret'/);
    },
  );
});

describe('a workspace of an installation with an egress proxy', () => {
  const asked: string[] = [];
  const receiver = createHttpServer((incoming, response) => {
    asked.push(`receiver ${incoming.headers.host}`);
    response.end();
  });
  const proxy = createHttpServer((_, response) => void response.writeHead(400).end());
  proxy.on('connect', (incoming, socket) => {
    asked.push(`CONNECT ${incoming.url} ${incoming.headers['proxy-authorization']}`);
    const onward = connect((receiver.address() as AddressInfo).port, 'localhost', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    onward.on('error', () => {});
    socket.on('error', () => {});
  });
  let app: HostedApp;
  beforeAll(async () => {
    await listening(receiver);
    const port = await listening(proxy);
    app = await startHostedApp({
      clock: systemClock,
      settings: { delivery: { allowedAddresses: ['127.0.0.0/8', '::1/128'] } },
      egressProxy: `http://ada:s3cret@localhost:${port}`,
    });
  });
  afterAll(async () => {
    await app.stop();
    receiver.closeAllConnections();
    proxy.closeAllConnections();
    receiver.close();
    proxy.close();
  });

  it('sends by it to an address that was looked up here, and names the host to the receiver alone', async () => {
    const hook = { id: 'hook', type: 'webhook', url: 'http://localhost:4711/in' };
    await app.api(MAIN, '/notification-targets', { method: 'POST', body: hook });
    const { body } = await app.api(MAIN, '/notification-targets/hook/test', { method: 'POST' });
    expect(body.items[0]).toMatchObject({ success: true });
    expect(asked).toEqual([
      expect.stringMatching(/^CONNECT (127\.0\.0\.1|\[::1\]):4711 Basic YWRhOnMzY3JldA==$/),
      'receiver localhost:4711',
    ]);
    expect(JSON.stringify(body)).not.toMatch(/s3cret|YWRh/);
  });

  it('never sends to the ports of the service itself, although its addresses are open', async () => {
    const hook = { id: 'self', type: 'webhook', url: `http://localhost:${app.port}/in` };
    await app.api(MAIN, '/notification-targets', { method: 'POST', body: hook });
    const { body } = await app.api(MAIN, '/notification-targets/self/test', { method: 'POST' });
    expect(JSON.stringify(body)).toContain('this service itself');
  });
});
