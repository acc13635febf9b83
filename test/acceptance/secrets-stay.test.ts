import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { operations } from '../../src/api/v1/index.ts';
import { targetTypes } from '../../src/targets/index.ts';
import { login } from './client.ts';
import {
  ADMIN_PASSWORD,
  headgate,
  installation,
  serve,
  stop,
  temporaryFolder,
  until,
  writeFileText,
} from './harness.ts';

/** One for each place, so that whichever gets out is known by its name. */
const SECRETS = {
  hookToken: 'tok-Aa1+9/hook-token-7f3e',
  basicPassword: 'pw "basic" & <Bb2> 81c4 ü',
  headerValue: 'GenieKey 3c1d-own-header-Cc3',
  formerSigning: `whsec_${Buffer.from('former-secret-of-the-hook-Ee5!').toString('base64')}`,
  signing: `whsec_${Buffer.from('signing-secret-of-the-hook-Dd4!').toString('base64')}`,
  slackPath: 'T0Ee5/B0Ee5/slackWebhookKeyEe5',
  routingKey: 'ff6c0ffee00c0ffee00c0ffee00c0ff6',
  awsKey: 'AKIAGG7EXAMPLE0001GG',
  awsSecretKey: 'aws/Secret+Key-Hh8/5e6f7a8b9c',
  smtpPassword: 'smtp-password-Ii9-2d4f',
  pushToken: 'push-token-of-a-pipeline-Jj10',
  metricsToken: 'metrics-token-Kk11-33aa',
  stored: 'stored-over-the-api-Ll12',
  inline: 'tested-and-not-kept-Mm13',
  clientSecret: 'client-secret-of-openid-Nn14',
  proxyPassword: 'proxy-password-Oo15-77b0',
  wrongUrl: 'user-of-an-address-Pp16',
  ownProxyPassword: 'own-proxy-password-Ss19-5d',
  passphrase: 'passphrase-of-a-key-Tt20-6e',
  option: 'option-of-a-preset-Uu21-7f0a1b',
};

/** What stands in an address that may be read with the settings; nobody else is shown it. */
const IN_ADDRESSES = { query: 'key-in-a-query-Qq17-1a2b', path: 'key-in-a-path-Rr18-3c4d5e6f' };

/** A receiver that refuses, and gives back all that it was sent: some do. */
async function mirror() {
  const seen: string[] = [];
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', chunk => chunks.push(chunk));
    request.on('end', () => {
      const { headers, url = '' } = request;
      seen.push(url);
      const status = Number(/status=(\d+)/.exec(url)?.[1] ?? 400);
      const body = { url, headers, body: Buffer.concat(chunks).toString() };
      response.writeHead(status, {
        'content-type': 'application/json',
        location: `http://elsewhere.example${url}`,
      });
      response.end(`${JSON.stringify(body)}\n${headers.authorization}\n${body.body}`);
    });
  });
  return { ...(await listening(server)), seen };
}

/** The same for mail. */
async function mailMirror() {
  const server = createTcpServer(socket => {
    socket.on('error', () => {});
    socket.write('220 mirror.example ESMTP\r\n');
    socket.on('data', chunk => {
      const line = chunk.toString().trim();
      if (/^EHLO/i.test(line)) socket.write('250-mirror.example\r\n250 AUTH PLAIN LOGIN\r\n');
      else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n');
      else {
        const plain = Buffer.from(line.split(' ').at(-1) ?? '', 'base64')
          .toString()
          .replaceAll('\0', ' ');
        socket.write(`535 5.7.8 refused: ${line} ${plain.replace(/[^ -~]/g, '')}\r\n`);
      }
    });
  });
  return listening(server);
}

async function listening(server: Server) {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return { port: typeof address === 'object' && address !== null ? address.port : 0 };
}

/** A key pair whose key is encrypted. */
const keyPair = (() => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-acceptance-'));
  try {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const request = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2 -subj /CN=x -keyout ${key} -out ${cert}`;
    const passphrase = ['-passout', `pass:${SECRETS.passphrase}`];
    execFileSync('openssl', [...request.split(' '), ...passphrase], { stdio: 'ignore' });
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
})();
/** A line of the key, as a text may quote it. */
const KEY_LINE = { key: keyPair.key.split('\n')[2] ?? '' };

const tls = { ...keyPair, passphrase: SECRETS.passphrase };
/** How a target of its own connects, with every secret that there may be in that. */
const connection = (http: number) => ({
  tls,
  proxyUrl: `http://127.0.0.1:${http}`,
  proxyUsername: 'ops',
  proxyPassword: SECRETS.ownProxyPassword,
});

type Targets = readonly { readonly id: string; readonly type: string; readonly [key: string]: unknown }[];

const targetsAt = (http: number, mail: number, tokenFile: string): Targets => [
  {
    id: 'by_token',
    type: 'webhook',
    url: `http://127.0.0.1:${http}/hook/${IN_ADDRESSES.path}?status=500&key=${IN_ADDRESSES.query}`,
    failedRequestLoggingMode: 'payloadAndHeaders',
    safeHeaders: ['Authorization', 'Webhook-Signature', 'Content-Type'],
    authType: 'token',
    token: `\${file:${tokenFile}}`,
    signingSecret: SECRETS.signing,
    previousSigningSecret: SECRETS.formerSigning,
    extraHttpHeaders: [{ name: 'X-Key', value: SECRETS.headerValue }],
  },
  {
    id: 'by_password',
    type: 'webhook',
    url: `http://127.0.0.1:${http}/basic?status=302`,
    authType: 'basic',
    username: 'ops',
    password: '${env:BASIC_PASSWORD}',
  },
  {
    id: 'chat',
    type: 'slack',
    slackUrl: `http://127.0.0.1:${http}/services/${SECRETS.slackPath}?status=404`,
  },
  {
    id: 'pager',
    type: 'pager_duty',
    routingKey: SECRETS.routingKey,
    severity: 'error',
    url: `http://127.0.0.1:${http}/v2/enqueue?status=400`,
  },
  {
    id: 'topic',
    type: 'sns',
    region: 'eu-west-1',
    endpoint: `http://127.0.0.1:${http}/sns?status=403`,
    destinationType: 'topic',
    topicArn: 'arn:aws:sns:eu-west-1:1:t',
    messageGroupId: '',
    awsAuthenticationMethod: 'manual',
    awsApiKey: SECRETS.awsKey,
    awsSecretKey: SECRETS.awsSecretKey,
  },
  {
    id: 'mail',
    type: 'smtp',
    host: '127.0.0.1',
    port: mail,
    from: 'headgate@shop.example',
    encryptionOption: 'NONE',
    smtpUsername: 'ops',
    smtpPassword: SECRETS.smtpPassword,
  },
  {
    id: 'by_proxy',
    type: 'webhook',
    url: 'http://receiver.example/proxied?status=400',
    failedRequestLoggingMode: 'payloadAndHeaders',
  },
  {
    id: 'hook_apart',
    type: 'webhook',
    preset: 'pushover',
    secretOptions: { token: SECRETS.option, user: SECRETS.option },
    url: `http://127.0.0.1:${http}/apart`,
    ...connection(http),
  },
  { id: 'chat_apart', type: 'slack', slackUrl: `http://127.0.0.1:${http}/apart`, ...connection(http) },
  {
    id: 'pager_apart',
    type: 'pager_duty',
    routingKey: SECRETS.routingKey,
    severity: 'error',
    ...connection(http),
  },
  {
    id: 'topic_apart',
    type: 'sns',
    region: 'eu-west-1',
    destinationType: 'topic',
    topicArn: 'arn:aws:sns:eu-west-1:1:t',
    messageGroupId: '',
    awsAuthenticationMethod: 'manual',
    awsApiKey: SECRETS.awsKey,
    awsSecretKey: SECRETS.awsSecretKey,
    endpoint: `http://127.0.0.1:${http}/apart`,
    ...connection(http),
  },
  {
    id: 'mail_apart',
    type: 'smtp',
    host: '127.0.0.1',
    port: mail,
    from: 'headgate@shop.example',
    encryptionOption: 'STARTTLS',
    smtpUsername: 'ops',
    smtpPassword: SECRETS.smtpPassword,
    tls,
  },
  { id: 'by_tunnel', type: 'webhook', url: 'https://receiver.example/tunnelled' },
  { id: 'bell', type: 'bulletin_message' },
  { id: 'log', type: 'notifications_log' },
  { id: 'by_rule', type: 'router', routes: [{ filter: 'true', output: 'by_token' }] },
  { id: 'default', type: 'default', defaultId: 'log' },
];

/** Names of the settings that a type's schema marks as secrets. */
function secretNames(node: unknown, name = ''): readonly string[] {
  if (typeof node !== 'object' || node === null) return [];
  if ('secret' in node && node.secret === true) return [name];
  return Object.entries(node).flatMap(([key, value]) =>
    key === 'properties'
      ? Object.entries(value).flatMap(([own, one]) => secretNames(one, own))
      : secretNames(value, name),
  );
}

/** Names of the settings, however deep. */
const namesIn = (value: unknown): readonly string[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([key, one]) => [key, ...namesIn(one)]);

/** As secrets travel: plain, in JSON, in an address, in Base64, behind a user name, in pieces of an address. */
const formsOf = (secret: string): readonly string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64'),
  Buffer.from(`ops:${secret}`).toString('base64'),
  Buffer.from(`ops:${secret}`).toString('base64url'),
  Buffer.from(`\0ops\0${secret}`).toString('base64'),
  ...secret.split('/').filter(({ length }) => length >= 12),
  secret.replace(/^\w+ /, ''),
];

function expectNoSecret(text: string, where: string, secrets: object = { ...SECRETS, ...KEY_LINE }): void {
  for (const [name, secret] of Object.entries(secrets))
    for (const form of formsOf(secret))
      expect(text.includes(form), `${name} in ${where}: ${around(text, form)}`).toBe(false);
}

/** What answers settings, their versions, and the test of a target as its request was. */
const SHOWS_ADDRESSES = /notification-targets|version|config\/files/;

/** All that a stream tells, until it ends with its server. */
async function listen(url: string, authorization: string): Promise<{ text(): Promise<string> }> {
  const answer = await fetch(url, { headers: { authorization } });
  const told = answer.text();
  told.catch(() => {});
  return { text: () => told };
}

const around = (text: string, form: string): string =>
  text.slice(Math.max(0, text.indexOf(form) - 60), text.indexOf(form) + 20);

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => join(folder, name))
    .filter(path => statSync(path).isFile());
}

it('holds a secret in every setting of a target that may hold one', () => {
  const targets = targetsAt(1, 1, '/token');
  for (const { type, schema } of targetTypes) {
    const given = targets.filter(target => target.type === type).flatMap(namesIn);
    const marked = secretNames(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
    expect([type, marked.filter(name => !given.includes(name))]).toEqual([type, []]);
  }
  const all = targetTypes.flatMap(({ schema }) =>
    secretNames(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })),
  );
  expect(all.length).toBeGreaterThan(7);
});

it('shows no secret of a full run anywhere, though every receiver gives back what it is sent', async () => {
  const http = await mirror();
  const mail = await mailMirror();
  const targets = targetsAt(
    http.port,
    mail.port,
    writeFileText(temporaryFolder(), 'token', SECRETS.hookToken),
  );
  const ids = targets.map(({ id }) => id);
  const folders = installation({
    settings: {
      auth: {
        openid: {
          name: 'sso',
          issuer: 'https://id.example',
          client_id: 'hg',
          client_secret: SECRETS.clientSecret,
        },
      },
      metrics: { token: SECRETS.metricsToken },
      pipelines: [
        { id: 'own', engine: 'custom', push: true, token: SECRETS.pushToken },
        {
          id: 'pulled',
          engine: 'prometheus',
          url: `http://127.0.0.1:${http.port}/metrics`,
          interval: '1s',
          token: SECRETS.pushToken,
        },
      ],
      delivery: { retrySchedule: ['0s', '1s'] },
    },
    notifications: {
      targets,
      notifications: [
        {
          id: 'everything',
          condition: 'monitor-alerts',
          targets: ids.filter(id => id !== 'default'),
          targetConfigs: ['mail', 'mail_apart'].map(id => ({
            id,
            conf: { emailRecipient: { to: 'ops@shop.example' } },
          })),
          conf: {},
        },
      ],
    },
  });
  const environment = {
    HEADGATE_ADMIN_PASSWORD: ADMIN_PASSWORD,
    HEADGATE_LOG_LEVEL: 'debug',
    BASIC_PASSWORD: SECRETS.basicPassword,
    HTTP_PROXY: `http://ops:${SECRETS.proxyPassword}@127.0.0.1:${http.port}`,
    HTTPS_PROXY: `http://ops:${SECRETS.proxyPassword}@127.0.0.1:${http.port}`,
  };
  const server = await serve({ ...folders, environment });
  const { token } = await login(server.url);

  async function ask(method: string, path: string, body?: unknown, authorization = token): Promise<string> {
    const answer = await fetch(`${server.url}${path}`, {
      method,
      signal: AbortSignal.timeout(300_000),
      headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    expectNoSecret(text, `${method} ${path}`);
    if (!SHOWS_ADDRESSES.test(path)) expectNoSecret(text, `${method} ${path}`, IN_ADDRESSES);
    return text;
  }
  const stream = await listen(`${server.url}/api/v1/stream`, token);
  const itemsOf = (text: string) => JSON.parse(text).items;

  const push = `Bearer ${SECRETS.pushToken}`;
  const event = { condition: 'monitor-alerts', key: 'cpu', state: 'ALARM' };
  await ask('POST', '/ingest/events', event, push);
  const sending = [
    'by_token',
    'by_password',
    'by_proxy',
    'by_tunnel',
    'chat',
    'pager',
    'topic',
    'mail',
    'log',
  ];
  await until(async () => {
    const deliveries = itemsOf(await ask('GET', '/api/v1/deliveries?limit=100'));
    return sending.every(id =>
      deliveries.some(
        (one: { target: string; attempts: number; state: string }) =>
          one.target === id && one.state !== 'waiting',
      ),
    );
  }, 'an attempt of every target');
  await ask('POST', '/ingest/events', { ...event, state: 'OK' }, push);

  // Over the API: a new secret, tests of all, of settings that are not kept, and what is refused.
  const api = '/api/v1/notification-targets';
  await ask('PATCH', `${api}/by_token`, { token: SECRETS.stored });
  for (const id of ids) await ask('POST', `${api}/${id}/test`, { testEmails: ['ops@shop.example'] });
  await ask('POST', `${api}/by_token/test`, { target: { token: SECRETS.inline } });
  await ask('PATCH', `${api}/by_token`, { url: 'http://other.example/' });
  await ask('PATCH', `${api}/pager`, { routingKey: SECRETS.routingKey, nonsense: SECRETS.routingKey.length });
  await ask('POST', '/ingest/events', event, 'Bearer wrong');
  // What is wrong is quoted, and may be a secret all the same.
  const wrongUrl = `https://ops:${SECRETS.wrongUrl}@hooks.example/`;
  for (const target of [
    { id: 'wrong', type: 'webhook', url: wrongUrl },
    { id: 'wrong', type: 'slack', slackUrl: `not-http://hooks.example/${SECRETS.slackPath}` },
    { id: 'wrong', type: 'pager_duty', severity: 'none', routingKey: `${SECRETS.routingKey} \n` },
    {
      id: 'wrong',
      type: 'webhook',
      url: 'https://hooks.example',
      authType: 'token',
      token: `${SECRETS.hookToken}\n`,
    },
  ])
    for (const path of [api, `${api}/wrong/test`])
      await ask('POST', path, path === api ? target : { target });
  const text = JSON.stringify({ targets: [...targets, { id: 'wrong', type: 'webhook', url: wrongUrl }] });
  await ask('POST', '/api/v1/system/config/check', { files: { 'notifications.yml': text } });
  await ask('PATCH', '/api/v1/system/settings/conf', { metrics: { token: [SECRETS.metricsToken] } });

  for (const { path, method, access, answer } of operations) {
    if (method !== 'GET' || answer.kind === 'stream' || access === 'pipeline') continue;
    const whole = `/api/v1${path.replace(':group', 'default')}`;
    const [collection = '', rest] = whole.split('/:');
    if (rest === undefined) await ask('GET', whole);
    else
      for (const item of itemsOf(await ask('GET', collection)) ?? []) {
        const key = item.id ?? item.name;
        if (key !== undefined) await ask('GET', whole.replace(/:\w+/, encodeURIComponent(String(key))));
      }
  }
  for (const { hash } of itemsOf(await ask('GET', '/api/v1/version')))
    for (const verb of ['show', 'diff']) await ask('GET', `/api/v1/version/${verb}?commit=${hash}`);
  const audit = await ask('GET', '/api/v1/audit?limit=1000');
  expect(audit).toContain('targets.test');
  await ask('GET', '/metrics', undefined, `Bearer ${SECRETS.metricsToken}`);

  const checks = [[], ['--json'], ['--effective'], ['--effective', '--json']];
  for (const flags of checks) {
    const { stdout, stderr } = await headgate(['check', '--config', folders.config, ...flags], environment);
    expectNoSecret(stdout + stderr, `check ${flags.join(' ')}`);
  }

  const backup = join(folders.root, 'whole.backup');
  const cli = await headgate(
    ['backup', '--config', folders.config, '--data', folders.data, '--to', backup],
    environment,
  );
  expect(cli.code).toBe(0);
  expectNoSecret(cli.stdout + cli.stderr, 'what a backup says');
  const lines = gunzipSync(readFileSync(backup)).toString('latin1');
  expectNoSecret(lines, 'the backup');
  expect(lines).toContain('everything');

  expect(http.seen.filter(url => url.startsWith('/hook')).length).toBeGreaterThan(1);
  for (const path of ['/basic', '/services', '/v2/enqueue', 'receiver.example/proxied'])
    expect(http.seen.join()).toContain(path);
  await stop(server);
  for (const secrets of [{ ...SECRETS, ...KEY_LINE }, IN_ADDRESSES]) {
    expectNoSecret(server.stdout() + server.stderr(), 'the log', secrets);
    expectNoSecret(await stream.text(), 'the stream', secrets);
  }
  expect(server.stdout() + server.stderr()).toContain('authorization: ********');
  expect(await stream.text()).toContain('deliver');
  for (const path of filesBelow(folders.data)) expectNoSecret(readFileSync(path, 'latin1'), path);
});
