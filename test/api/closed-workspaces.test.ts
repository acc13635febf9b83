import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { OpenStore } from '../../src/cli/store.ts';
import { isDestination, mapsFor } from '../../src/config/schema-walk.ts';
import { createSealedDocumentStore } from '../../src/config/source/document.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { monotonicIds } from '../../src/lib/ids.ts';
import { JSON_ENGINES, TEXT_ENGINES } from '../../src/pipelines/engines/index.ts';
import { targetTypes } from '../../src/targets/index.ts';
import { certificateAuthority } from '../helpers/certificates.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';
import { showing } from '../helpers/https.ts';
import { mailServer } from '../helpers/mail-server.ts';
import { until } from '../helpers/until.ts';

const MAIN = 'main-acme';
const TOPIC = {
  ...{ type: 'sns', region: 'eu-west-1', destinationType: 'topic', messageGroupId: '' },
  ...{ topicArn: 'arn:aws:sns:eu-west-1:1:t', awsAuthenticationMethod: 'manual' },
  ...{ awsApiKey: 'AKIDEXAMPLE0000001', awsSecretKey: 'the-secret-key', maxRetries: 0 },
};

/** Targets that speak HTTP, their receiver being elsewhere. */
const PROXIED = [
  { type: 'webhook', url: 'http://receiver.example/in' },
  { type: 'slack', slackUrl: 'https://receiver.example/services/T/B/K' },
  {
    ...{ type: 'pager_duty', routingKey: '0123456789abcdef0123456789abcdef', severity: 'error' },
    url: 'http://receiver.example/v2',
  },
  { ...TOPIC, endpoint: 'http://receiver.example' },
];

/** Each setting that says where a type sends to, as an address of this machine. */
const DESTINATIONS: Readonly<Record<string, (host: string, port: number) => object>> = {
  'webhook.url': (host, port) => ({ type: 'webhook', url: `http://${host}:${port}/in` }),
  'webhook.resolveUrl': (host, port) => ({
    type: 'webhook',
    url: host === 'localhost' ? `http://${host}:${port}/in` : 'https://hooks.example/in',
    resolveUrl: `http://${host}:${port}/out/\${incidentId}`,
  }),
  'slack.slackUrl': (host, port) => ({ type: 'slack', slackUrl: `https://${host}:${port}/services/T/B/K` }),
  'pager_duty.url': (host, port) => ({
    ...{ type: 'pager_duty', routingKey: '0123456789abcdef0123456789abcdef', severity: 'error' },
    url: `http://${host}:${port}/v2`,
  }),
  'sns.endpoint': (host, port) => ({ ...TOPIC, endpoint: `http://${host}:${port}` }),
  ...Object.fromEntries(
    PROXIED.map(settings => [
      `${settings.type}.proxyUrl`,
      (host: string, port: number) => ({ ...settings, proxyUrl: `http://${host}:${port}` }),
    ]),
  ),
  'smtp.host': (host, port) => ({
    ...{ type: 'smtp', host, port, from: 'a@b.example', smtpUsername: '', smtpPassword: '' },
  }),
};
/** Engines whose pipelines are read from an address: all but those that only push. */
const READ_ENGINES = [...TEXT_ENGINES, ...JSON_ENGINES, 'custom'];
const RULES = [{ match: '^events_total$', id: 'queue', kind: 'input', metric: 'in_events' }];

const BELL = (id: string) => ({ id: `bell-${id}`, type: 'bulletin_message' });

/** Whose pipeline was stored before it was refused. */
const OLD = 'main-corp';
const { awsApiKey, awsSecretKey, ...AS_PROCESS } = { ...TOPIC, awsAuthenticationMethod: 'auto' };
/** Pipelines that say by what is the operator's which they are, or how they come by their data. */
const UNKNOWN_PIPELINES = {
  id: { id: '${env:HOME}', engine: 'vector', url: 'https://a.example/' },
  engine: { id: 'no-engine', engine: '${file:/etc/hostname}', url: 'https://a.example/' },
  push: { id: 'no-push', engine: 'rsyslog', push: '${env:HOME}' },
  group: { id: 'no-group', engine: 'vector', push: true, group: '${env:HOME}' },
};
const OLD_VERSIONS = [
  ...Object.values(UNKNOWN_PIPELINES).map(pipeline => ({ 'headgate.yml': { pipelines: [pipeline] } })),
  { 'notifications.yml': { targets: [{ ...AS_PROCESS, id: 'old' }] } },
  { 'notifications.yml': { targets: [{ id: 'old', type: 'webhook', url: 'http://127.0.0.1/' }] } },
  { 'notifications.yml': { targets: [{ id: 'old', type: 'webhook', url: '${env:HOME}' }] } },
  { 'headgate.yml': { pipelines: [{ id: 'old', engine: 'vector', url: 'http://127.0.0.1/' }] } },
  { 'headgate.yml': { pipelines: [{ id: 'old', engine: 'vector', files: ['/etc/hosts'] }] } },
];

async function withOldState({ storage, openKeyRing }: OpenStore, port: number): Promise<void> {
  const ids = monotonicIds(systemClock);
  await storage.transaction(async tx => {
    for (const files of OLD_VERSIONS)
      await tx.in(MAIN).addVersion({
        ...{ id: ids.next(), author: 'before', source: 'api', message: null, created_at: 1 },
        files: JSON.stringify(
          Object.fromEntries(Object.entries(files).map(([name, value]) => [name, JSON.stringify(value)])),
        ),
      });
  });
  const keyRing = await openKeyRing();
  const documents = createSealedDocumentStore({ storage, workspace: OLD, keyRing, clock: systemClock });
  const { texts } = await documents.read();
  const pipeline = { id: 'edge', engine: 'vector', url: `http://localhost:${port}/`, token: '${env:HOME}' };
  const stored = {
    ...texts,
    'headgate.yml': JSON.stringify({
      pipelines: [{ ...pipeline, interval: '1s' }, ...Object.values(UNKNOWN_PIPELINES)],
    }),
  };
  await documents.write({ revision: 1, texts: stored });
}

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
    app = await startHostedApp({
      ...{ clock: systemClock, settings: { delivery: {} } },
      prepare: store => withOldState(store, port),
    });
  });
  afterAll(async () => {
    await app.stop();
    trap.close();
  });
  const call = (method: string, path: string, body: unknown) => app.api(MAIN, path, { method, body });

  it('learns nothing of the machine that it shares', async () => {
    const { body } = await app.api(MAIN, '/system/info');
    expect(Object.keys(body.items[0]).sort()).toEqual([
      ...['BUILD', 'apiPort', 'distMode', 'headgate', 'uptime', 'version'],
    ]);
  });

  it('is told that the operator decides where it may send, whatever it asks for', async () => {
    const sent = (delivery: object) => call('PATCH', '/system/settings/conf', { delivery });
    for (const asked of [{ privateAddresses: 'allow' }, { allowedAddresses: ['127.0.0.0/8'] }]) {
      const { status, body } = await sent(asked);
      expect([status, body.message]).toEqual([
        400,
        expect.stringContaining(`delivery.${Object.keys(asked)[0]}: is decided by the operator`),
      ]);
    }
    // As it was read.
    expect((await sent({ privateAddresses: 'refuse', allowedAddresses: [] })).status).toBe(200);
  });

  it('does not go back to a version that has what is refused now', async () => {
    const { body } = await app.api(MAIN, '/version');
    const old = body.items.filter(({ author_name: author }: { author_name: string }) => author === 'before');
    expect(old).toHaveLength(OLD_VERSIONS.length);
    for (const { hash: commit } of old) {
      const answer = await call('POST', '/version/revert', { commit });
      expect([answer.status, answer.body.message]).toEqual([
        400,
        expect.stringMatching(
          /'manual'.*'secret'|not public|must not be read from the environment|no files of yours/,
        ),
      ]);
    }
    expect((await app.api(MAIN, '/notification-targets')).body.items).not.toContainEqual(
      expect.objectContaining({ id: 'old' }),
    );
  });

  it('starts with a stored pipeline that names what is the operator’s, never reads it, and says why', async () => {
    const engines = async () => (await app.api(OLD, '/system/engines')).body.items;
    await until(async () => JSON.stringify(await engines()).includes('cannot be looked up here'));
    expect(JSON.stringify(await engines())).toContain('pipelines[0].token');
    const status = await app.api(OLD, '/system/config/status');
    expect(JSON.stringify(status.body)).toContain('the pipeline is switched off');
    expect(connections).toBe(0);
  });

  it.each(Object.entries(UNKNOWN_PIPELINES))(
    'starts with a stored pipeline whose %s is the operator’s, and takes none such by any way in',
    async (key, pipeline) => {
      const place = `pipelines[${1 + Object.keys(UNKNOWN_PIPELINES).indexOf(key)}].${key}`;
      await until(async () =>
        JSON.stringify((await app.api(OLD, '/system/engines')).body.items).includes(`${place}: $`),
      );
      const [status] = (await app.api(OLD, '/system/config/status')).body.items;
      expect(status).toMatchObject({ state: 'ok' });
      expect(status.warnings).toContainEqual(
        expect.objectContaining({ path: place, message: expect.stringContaining('switched off') }),
      );
      expect((await app.api(OLD, '/notification-targets', { method: 'POST', body: BELL(key) })).status).toBe(
        200,
      );
      const files = { 'headgate.yml': JSON.stringify({ pipelines: [pipeline] }) };
      for (const answer of [
        await call('PATCH', '/system/settings/conf', { pipelines: [pipeline] }),
        await call('PUT', '/system/config/files', { files }),
      ])
        expect([answer.status, answer.body.message]).toEqual([
          400,
          expect.stringContaining(`pipelines[0].${key}: must not be read from the environment`),
        ]);
      const checked = await call('POST', '/system/config/check', { files });
      expect(checked.body.items[0].ok).toBe(false);
      expect(JSON.stringify(checked.body.items[0].errors)).toContain(`pipelines[0].${key}`);
    },
  );

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
    const posted = await call('POST', '/notification-targets', literal);
    expect([posted.status, posted.body.message]).toEqual([400, expect.stringContaining('ask the operator')]);
    expect(posted.body.message).not.toContain('add it');
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
    expect(JSON.stringify(tested.body)).toMatch(/not public; ask the operator/);
    expect(connections).toBe(0);
  });

  it.each(READ_ENGINES)(
    'reads no pipeline of the engine %s inside, and takes none by import',
    async engine => {
      const at = (host: string) => ({
        pipelines: [
          {
            ...{ id: engine, engine, url: `http://${host}:${port}/metrics`, interval: '1s' },
            ...(engine === 'custom' && { rules: RULES }),
          },
        ],
      });
      for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]']) {
        const files = { 'headgate.yml': JSON.stringify(at(host)) };
        expect((await call('PUT', '/system/config/files', { files })).status).toBe(400);
      }
      const files = { 'headgate.yml': JSON.stringify(at('localhost')) };
      expect((await call('PUT', '/system/config/files', { files })).status).toBe(200);
      await until(async () => {
        const { body } = await app.api(MAIN, '/system/engines');
        return body.items.some(
          ({ id, ...item }: { id: string }) => id === engine && JSON.stringify(item).includes('not public'),
        );
      });
      expect(connections).toBe(0);
    },
  );

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
  /** Connects to the address that it is asked for. */
  const proxy = createHttpServer((_, response) => void response.writeHead(400).end());
  proxy.on('connect', (incoming, socket) => {
    const { hostname, port } = new URL(`http://${incoming.url}`);
    asked.push(`CONNECT ${incoming.url} ${incoming.headers['proxy-authorization']}`);
    const onward = connect(Number(port), hostname.replace(/[[\]]/g, ''), () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    onward.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    socket.on('error', () => onward.destroy());
  });
  const connectsTo = (port: number): boolean =>
    asked.some(line =>
      new RegExp(`^CONNECT (127\\.0\\.0\\.1|\\[::1\\]):${port} Basic YWRhOnMzY3JldA==$`).test(line),
    );
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

  async function tested(
    target: { readonly id: string; readonly [setting: string]: unknown },
    more: object = {},
  ) {
    await app.api(MAIN, '/notification-targets', { method: 'POST', body: target });
    const path = `/notification-targets/${target.id}/test`;
    return (await app.api(MAIN, path, { method: 'POST', body: more })).body;
  }

  it('sends by it to an address that was looked up here, and names the host to the receiver alone', async () => {
    const { port } = receiver.address() as AddressInfo;
    const body = await tested({ id: 'hook', type: 'webhook', url: `http://localhost:${port}/in` });
    expect(body.items[0]).toMatchObject({ success: true });
    expect(connectsTo(port)).toBe(true);
    expect(asked.at(-1)).toBe(`receiver localhost:${port}`);
    expect(JSON.stringify(body)).not.toMatch(/s3cret|YWRh/);
  });

  it('speaks TLS with the receiver through it, which sees the name in TLS and in Host', async () => {
    const seen: unknown[] = [];
    const pair = certificateAuthority().issue('receiver');
    const secure = createHttpsServer(showing(pair), (incoming, response) => {
      seen.push([incoming.headers.host, Reflect.get(incoming.socket, 'servername')]);
      response.end();
    });
    const port = await listening(secure);
    onTestFinished(() => void secure.close());
    const url = `https://localhost:${port}/in`;
    const hook = { id: 'tls', type: 'webhook', url, rejectUnauthorized: false, keepAlive: false };
    expect((await tested(hook)).items[0]).toMatchObject({ success: true });
    expect(seen).toEqual([[`localhost:${port}`, 'localhost']]);
    expect(connectsTo(port)).toBe(true);
    const judged = { ...hook, id: 'judged', rejectUnauthorized: true };
    expect(JSON.stringify(await tested(judged))).toContain('certificate');
    expect(seen).toHaveLength(1);
  });

  it.each([
    ['STARTTLS', false],
    ['TLS', true],
  ])('sends mail through it with %s, by the name of the server', async (encryptionOption, isTls) => {
    const server = await mailServer({ pair: certificateAuthority().issue('mail'), isTls });
    const target = {
      ...{
        id: `mail-${encryptionOption}`,
        type: 'smtp',
        host: 'localhost',
        port: server.port,
        encryptionOption,
      },
      ...{ from: 'a@b.example', smtpUsername: '', smtpPassword: '', tls: { rejectUnauthorized: false } },
    };
    const answer = await tested(target, { testEmails: ['ann@acme.example'] });
    expect(answer.items[0]).toMatchObject({ success: true });
    expect(server.mails).toMatchObject([
      { to: ['ann@acme.example'], isEncrypted: true, serverName: 'localhost' },
    ]);
    expect(connectsTo(server.port)).toBe(true);
  });

  it('never sends to the ports of the service itself, although its addresses are open', async () => {
    const body = await tested({ id: 'self', type: 'webhook', url: `http://localhost:${app.port}/in` });
    expect(JSON.stringify(body)).toContain('leads to an address that is not public');
  });
});
