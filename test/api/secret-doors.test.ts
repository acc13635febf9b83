import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { PlainMap } from '../../src/config/plain.ts';
import {
  bearsSecret,
  guardsSecrets,
  isSecretNaming,
  isTemplate,
  layers,
  mapsFor,
  type Schema,
} from '../../src/config/schema-walk.ts';
import { targetTypes } from '../../src/targets/index.ts';
import { writeFileText } from '../acceptance/files.ts';
import { addedUser } from '../helpers/users.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { type JsonAnswer, jsonCaller } from './json.ts';

const MASK = '********';

type Kind = 'secret' | 'name' | 'guard' | 'template' | 'other';

/** Every setting of a schema that holds a single value or a list of them, with what its marks say. */
function settingsIn(schema: Schema, above: { path: string; kind: Kind } = { path: '', kind: 'other' }) {
  const found = new Map<string, Kind>();
  for (const [key, field] of mapsFor(schema, {}).flatMap(map => Object.entries<Schema>(map.shape))) {
    const path = above.path === '' ? key : `${above.path}.${key}`;
    const kind = above.kind === 'other' ? kindOf(field) : above.kind;
    const items = layers(field).flatMap(layer => (layer instanceof z.ZodArray ? [layer.element] : []));
    const inner = [field, ...items].filter(one => mapsFor(one, {}).length > 0);
    if (inner.length === 0) found.set(path, kind);
    for (const one of inner)
      for (const [name, nested] of settingsIn(one, { path, kind })) found.set(name, nested);
  }
  return found;
}

/** Of a map with any names, what its values are. */
function kindOf(field: Schema): Kind {
  const record = layers(field).find(layer => layer instanceof z.ZodRecord);
  if (record instanceof z.ZodRecord) return kindOf(record.valueType);
  if (isTemplate(field) && !guardsSecrets(field)) return 'template';
  if (guardsSecrets(field) && !bearsSecret(field)) return 'guard';
  if (isSecretNaming(field)) return 'name';
  return layers(field).some(layer => z.globalRegistry.get(layer)?.secret === true) ? 'secret' : 'other';
}

/** Settings that neither lead secrets elsewhere nor lay them open, whatever they say. */
const COMMON = [
  ...['id', 'type', 'description', 'systemFields', 'onBackpressure', 'fallback', 'pacing'],
  'redeliverOnRecovery',
];
const RETRIES = [
  ...['httpStatus', 'initialBackoff', 'backoffRate', 'maxBackoff'].map(key => `responseRetrySettings.${key}`),
  ...['timeoutRetry', 'initialBackoff', 'backoffRate', 'maxBackoff'].map(
    key => `timeoutRetrySettings.${key}`,
  ),
  'responseHonorRetryAfterHeader',
];
const CONNECTION = [
  ...['connect', 'write', 'firstByte', 'body'].map(step => `timeouts.${step}`),
  // Another certificate is of no use without its key.
  'tls.cert',
];
const HARMLESS: Readonly<Record<string, readonly string[]>> = {
  webhook: [
    ...RETRIES,
    ...CONNECTION,
    ...[
      'preset',
      'options',
      'authScheme',
      'method',
      'resolveMethod',
      'username',
      'extraHttpHeaders.name',
      'format',
      'customDropWhenNull',
      'customEventDelimiter',
    ],
    ...['customContentType', 'compress', 'maxPayloadSizeKB', 'maxPayloadEvents', 'flushPeriodSec'],
    ...['timeoutSec', 'concurrency', 'keepAlive', 'useRoundRobinDns', 'failedRequestLoggingMode'],
  ],
  slack: [...RETRIES, ...CONNECTION],
  pager_duty: [...RETRIES, ...CONNECTION, 'severity', 'group', 'class', 'component'],
  smtp: [
    ...['smtpUsername', 'from', 'tls.cert', 'ehloName'],
    ...['connect', 'greeting', 'hello', 'mail', 'rcpt', 'data', 'block', 'end'].map(
      step => `timeouts.${step}`,
    ),
  ],
  sns: [...CONNECTION, 'topicType', 'allowList', 'durationSeconds', 'maxRetries', 'reuseConnections'],
};

const withSecrets = targetTypes.filter(
  ({ schema }) => bearsSecret(schema) || [...settingsIn(schema).values()].includes('name'),
);

it.each(withSecrets.map(({ type, schema }) => [type, schema] as const))(
  'each setting of %s is a secret, or marked as deciding where secrets go, or known as harmless',
  (type, schema) => {
    const unknown = [...settingsIn(schema)].flatMap(([path, kind]) =>
      kind === 'other' && ![...COMMON, ...(HARMLESS[type] ?? [])].includes(path) ? [path] : [],
    );
    expect(unknown).toEqual([]);
  },
);

const ADDRESS = 'http://127.0.0.1:9/hook';
const ARN = 'arn:aws:sns:eu-west-1:123456789012:alarms';

interface Sample {
  readonly item: PlainMap;
  readonly secrets: (word: string) => PlainMap;
  /** Changes by the path of the setting that is marked; what else they need beside the secrets. */
  readonly changes: Readonly<Record<string, { readonly to: unknown; readonly with?: PlainMap }>>;
}

/** What every type that speaks HTTP has. */
const OF_CONNECTION: Sample['changes'] = {
  proxyUrl: { to: 'http://127.0.0.1:9' },
  proxyUsername: { to: 'somebody' },
  'tls.minVersion': { to: 'TLSv1' },
  'tls.maxVersion': { to: 'TLSv1.2' },
  'tls.ca': { to: rootCertificates[0] },
};

const SAMPLES: Readonly<Record<string, Sample>> = {
  webhook: {
    item: { url: ADDRESS, authType: 'token', preset: 'pushover' },
    secrets: word => ({
      secretOptions: { token: `option-${word}`, user: `person-${word}` },
      token: `token-${word}`,
      extraHttpHeaders: [{ name: 'X-Key', value: `header-${word}` }],
      signingSecret: `whsec_${Buffer.from(`signing-${word}`.padEnd(32, '.')).toString('base64')}`,
    }),
    changes: {
      url: { to: 'http://127.0.0.1:9/other' },
      authType: { to: 'basic', with: { username: 'u', password: 'password-anew', token: null } },
      rejectUnauthorized: { to: false },
      safeHeaders: { to: ['x-key'] },
      resolveUrl: { to: 'http://127.0.0.1:9/other/${incidentId}' },
      ...OF_CONNECTION,
    },
  },
  pager_duty: {
    item: { severity: 'error', url: ADDRESS },
    secrets: word => ({ routingKey: `routing-${word}` }),
    changes: { url: { to: 'http://127.0.0.1:9/other' }, ...OF_CONNECTION },
  },
  smtp: {
    item: { host: '127.0.0.1', port: 9, smtpUsername: 'u', from: 'a@b.example' },
    secrets: word => ({ smtpPassword: `password-${word}` }),
    changes: {
      host: { to: 'localhost' },
      port: { to: 10 },
      encryptionOption: { to: 'NONE' },
      'tls.rejectUnauthorized': { to: false },
      'tls.minVersion': { to: 'TLSv1' },
      'tls.maxVersion': { to: 'TLSv1.2' },
      'tls.ca': { to: rootCertificates[0] },
    },
  },
  slack: {
    item: {},
    secrets: word => ({ slackUrl: `http://127.0.0.1:9/services/${word}` }),
    changes: OF_CONNECTION,
  },
  sns: {
    item: {
      ...{
        region: 'eu-west-1',
        destinationType: 'topic',
        topicArn: ARN,
        messageGroupId: '',
        endpoint: ADDRESS,
      },
      ...{ awsAuthenticationMethod: 'manual', assumeRoleArn: 'arn:aws:iam::123456789012:role/alarms' },
      ...{ assumeRoleExternalId: 'external', phoneNumber: '+15555551234' },
    },
    secrets: word => ({ awsApiKey: `AKIA-${word}`, awsSecretKey: `secret-${word}` }),
    changes: {
      region: { to: 'eu-west-2' },
      destinationType: { to: 'phoneNumber' },
      topicArn: { to: `${ARN}2` },
      phoneNumber: { to: '+15555551235' },
      awsAuthenticationMethod: { to: 'auto', with: { awsApiKey: null, awsSecretKey: null } },
      enableAssumeRole: { to: true },
      assumeRoleArn: { to: 'arn:aws:iam::123456789012:role/other' },
      assumeRoleExternalId: { to: 'another' },
      endpoint: { to: 'http://127.0.0.1:9/other' },
      // Another one is refused whatever comes with it.
      signatureVersion: { to: 'v4' },
      ...OF_CONNECTION,
      rejectUnauthorized: { to: false },
    },
  },
};

it.each(withSecrets.map(({ type, schema }) => [type, schema] as const))(
  'every mark of %s is tried below',
  (type, schema) => {
    const marked = [...settingsIn(schema)].flatMap(([path, kind]) => (kind === 'guard' ? [path] : []));
    expect(Object.keys(SAMPLES[type]?.changes ?? {}).sort()).toEqual(marked.sort());
  },
);

/** A map with a value at a path such as `tls.ca`. */
function patchOf(path: string, value: unknown): PlainMap {
  const [first = '', ...rest] = path.split('.');
  return { [first]: rest.length === 0 ? value : patchOf(rest.join('.'), value) };
}

const cases = Object.entries(SAMPLES).flatMap(([type, sample]) =>
  Object.entries(sample.changes)
    .filter(([path]) => path !== 'signatureVersion')
    .map(([path, change]) => ({ type, path, sample, ...change })),
);

let server: ApiServer;
let admin: (...request: Parameters<ReturnType<typeof jsonCaller>>) => Promise<JsonAnswer>;
let editor: typeof admin;

beforeAll(async () => {
  server = await startApiServer({});
  admin = jsonCaller(server);
  editor = (await addedUser(server, 'ed', { roles: ['editor'] })).call;
});
afterAll(() => server.stop());

const TARGET = '/notification-targets/guarded';
const FILES = '/system/config/files';

/** The whole configuration is this one target, written by a person, its secrets in clear. */
async function given(item: PlainMap): Promise<void> {
  writeFileText(server.config, 'notifications.yml', JSON.stringify({ targets: [item] }));
  expect((await admin('DELETE', '/notifications/nobody')).status).toBe(404);
  expect((await admin('GET', TARGET)).status).toBe(200);
}

const merged = (base: PlainMap, patch: PlainMap): PlainMap => {
  const entries = Object.entries({ ...base, ...patch }).filter(([, value]) => value !== null);
  return Object.fromEntries(entries);
};

const masked = (sample: Sample): PlainMap =>
  JSON.parse(JSON.stringify(sample.secrets('x')), (key, value: unknown) =>
    typeof value === 'string' && key !== 'name' ? MASK : value,
  );

/** The ways in for a change of a target, each with how it brings a change of it. */
const DOORS: Readonly<
  Record<string, (item: PlainMap, patch: PlainMap, hidden: PlainMap) => Promise<JsonAnswer>>
> = {
  'a merge': (_, patch) => editor('PATCH', TARGET, patch),
  'a body that was read': (item, patch, hidden) =>
    editor('PATCH', TARGET, merged({ ...item, ...hidden }, patch)),
  'a test with settings': (_, patch) => editor('POST', `${TARGET}/test`, { target: patch }),
  'an import': (item, patch, hidden) =>
    admin('PUT', FILES, {
      files: { 'notifications.yml': JSON.stringify({ targets: [merged({ ...item, ...hidden }, patch)] }) },
    }),
  'a configuration that is applied': (item, patch, hidden) =>
    admin('POST', '/system/config/apply', texts({ targets: [merged({ ...item, ...hidden }, patch)] })),
};

const texts = (content: object) => ({ documents: [{ name: 'all.yml', text: JSON.stringify(content) }] });

describe.each(cases)('$path of $type', ({ type, path, sample, to, with: also = {} }) => {
  const item = { id: 'guarded', type, ...sample.item };
  const patch = patchOf(path, to);

  it.each(Object.entries(DOORS))('does not change with secrets that are hidden, by %s', async (_, open) => {
    await given({ ...item, ...sample.secrets('first-one') });
    const answer = await open(item, patch, masked(sample));
    expect([answer.status, answer.body.code]).toEqual([422, 'unprocessable']);
    expect(answer.body.message).toContain(`'${path.split('.')[0]}' changes`);
  });

  it('changes with secrets that are sent anew', async () => {
    await given({ ...item, ...sample.secrets('first-one') });
    const anew = { ...sample.secrets('second-one'), ...also };
    expect(await editor('PATCH', TARGET, { ...patch, ...anew })).toMatchObject({ status: 200 });
    await given({ ...item, ...sample.secrets('first-one') });
    const files = { 'notifications.yml': JSON.stringify({ targets: [merged({ ...item, ...patch }, anew)] }) };
    const answer = await admin('PUT', FILES, { files });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.text).not.toContain('second-one');
  });
});

it.each(Object.entries(SAMPLES))(
  'what was read of %s comes back unchanged, by every way in',
  async (type, sample) => {
    const item = { id: 'guarded', type, ...sample.item, ...sample.secrets('first-one') };
    await given(item);
    const read = (await editor('GET', TARGET)).body.items[0];
    expect((await editor('PATCH', TARGET, read)).status).toBe(200);
    const { files } = (await admin('GET', FILES)).body.items[0];
    expect(await admin('PUT', FILES, { files })).toMatchObject({ status: 200, body: { items: [{ files }] } });
    const documents = Object.entries(files).map(([name, text]) => ({ name, text }));
    const applied = await admin('POST', '/system/config/apply', { documents, prune: true });
    expect([applied.status, applied.body.items]).toEqual([200, [expect.objectContaining({ changes: [] })]]);
    expect((await editor('GET', TARGET)).body.items[0]).toEqual(read);
    expect(JSON.stringify([read, files])).not.toContain('first-one');
  },
);

describe('a return to an older version', () => {
  const item = (url: string, token: string) => ({
    id: 'guarded',
    type: 'webhook',
    url,
    authType: 'token',
    token,
  });

  it('brings no secret back to where it was not entered for', async () => {
    await given(item(ADDRESS, 'token-of-the-first'));
    const [{ hash }] = (await admin('GET', '/version')).body.items;
    await given(item('http://127.0.0.1:9/second', 'token-of-the-second'));
    expect(await admin('POST', '/version/revert', { commit: hash })).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'notifications.yml targets[0].token' }] },
    });
    await given({ ...item(ADDRESS, 'token-of-the-second'), description: 'changed' });
    expect(await admin('POST', '/version/revert', { commit: hash })).toMatchObject({ status: 200 });
  });

  it('brings back no reference to the surroundings that is gone from the files', async () => {
    const open = { id: 'guarded', type: 'webhook', url: ADDRESS };
    await given({ ...open, description: '${env:HEADGATE_ADMIN_PASSWORD}' });
    const [{ hash }] = (await admin('GET', '/version')).body.items;
    await given(open);
    expect((await admin('POST', '/version/revert', { commit: hash })).status).toBe(400);
  });
});

describe('a reference in what comes over the API', () => {
  const hook = (extra: object) => ({ id: 'guarded', type: 'webhook', url: ADDRESS, ...extra });

  it.each(['${env:HEADGATE_ADMIN_PASSWORD}', '${file:/etc/hostname}'])(
    'is refused by every way in: %s',
    async reference => {
      await given(hook({}));
      const text = JSON.stringify({ targets: [hook({ description: reference })] });
      const settings = { instance: { name: reference } };
      const declared = { id: 'in1', type: 'http', authToken: reference };
      const answers = await Promise.all([
        editor('PATCH', TARGET, { description: reference }),
        editor('POST', '/notification-targets', { ...hook({}), id: 'new', description: reference }),
        editor('POST', `${TARGET}/test`, { target: { description: reference } }),
        editor('POST', '/system/inputs', declared),
        editor('POST', '/system/outputs', declared),
        admin('PATCH', '/system/settings/conf', settings),
        admin('PATCH', '/system/settings/auth', { openid: { issuer: ADDRESS, client_id: reference } }),
        admin('PUT', FILES, { files: { 'notifications.yml': text } }),
        admin('PUT', FILES, { files: { 'headgate.yml': JSON.stringify(settings) } }),
        admin('PUT', FILES, { files: { 'inputs.yml': JSON.stringify({ inputs: [declared] }) } }),
        ...['plan', 'apply'].flatMap(verb =>
          [{ targets: [hook({ description: reference })] }, settings, { outputs: [declared] }].map(content =>
            admin('POST', `/system/config/${verb}`, texts(content)),
          ),
        ),
      ]);
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400));
    },
  );

  it('stays where a person wrote it, whatever else an editor changes', async () => {
    await given(hook({ description: '${env:HEADGATE_ADMIN_PASSWORD}' }));
    const read = (await editor('GET', TARGET)).body.items[0];
    expect(read.description).toBe(MASK);
    expect((await editor('PATCH', TARGET, { ...read, method: 'PUT' })).status).toBe(200);
    expect((await admin('GET', FILES)).text).toContain('${env:HEADGATE_ADMIN_PASSWORD}');
  });
});

describe('the name of a stored pair of keys', () => {
  const { item } = SAMPLES.sns ?? { item: {} };
  const named = { ...item, id: 'guarded', type: 'sns', awsAuthenticationMethod: 'secret', awsSecret: 'pair' };

  it('is given by who may change settings, and leads where they say', async () => {
    await admin('PUT', '/system/secrets/pair', { value: 'AKIAIOSFODNN7EXAMPLE:secret-of-the-pair' });
    await given(named);
    const other = { endpoint: 'http://127.0.0.1:9/other' };
    expect((await editor('POST', '/notification-targets', { ...named, id: 'mine' })).status).toBe(403);
    expect((await editor('PATCH', TARGET, { awsSecret: 'another' })).status).toBe(403);
    expect((await editor('PATCH', TARGET, { description: 'ours' })).status).toBe(200);
    expect((await editor('PATCH', TARGET, other)).status).toBe(422);
    expect((await editor('PATCH', TARGET, { ...other, awsSecret: 'pair' })).status).toBe(422);
    expect((await admin('PATCH', TARGET, other)).status).toBe(422);
    expect((await admin('DELETE', '/system/secrets/pair')).status).toBe(409);
    expect((await admin('PATCH', TARGET, { ...other, awsSecret: 'pair' })).status).toBe(200);
  });
});

it('stores the secrets of two places under two names, whatever the ids', async () => {
  await given({ id: 'guarded', type: 'webhook', url: ADDRESS });
  const input = (id: string, extra: object) =>
    editor('POST', '/system/inputs', { id, type: 'http', ...extra });
  expect((await input('a', { b: { authToken: 'token-of-a-b' } })).status).toBe(200);
  expect((await input('a_b', { authToken: 'token-of-a_b' })).status).toBe(200);
  expect((await input('a-b', { authToken: 'token-of-a-b' })).status).toBe(200);
  const names = (await admin('GET', '/system/secrets')).body.items.map(({ name }: { name: string }) => name);
  expect(new Set(names.filter((name: string) => name.startsWith('input_a'))).size).toBe(3);
});
