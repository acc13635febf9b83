import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noData } from '../acceptance/files.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

/** The row of a field as the specification has it: type, whether it is required, its default. */
type Row = readonly [
  field: string,
  type: 'string' | 'number' | 'boolean' | 'list' | 'object',
  more?: 'required' | { readonly default: unknown },
];

const TARGET_ROWS: readonly Row[] = [
  ['id', 'string', 'required'],
  ['type', 'string', 'required'],
  ['systemFields', 'list', { default: ['cribl_host'] }],
];

interface SpecifiedTarget {
  /** The least that is accepted. */
  readonly least: Readonly<Record<string, unknown>>;
  /** A value for each optional field that has no default. */
  readonly optional: Readonly<Record<string, unknown>>;
  readonly rows: readonly Row[];
}

const TARGETS: Readonly<Record<string, SpecifiedTarget>> = {
  webhook: {
    least: { url: 'https://hooks.example/in' },
    optional: { authType: 'token', token: 's3cret-token', srcExpression: "'text'" },
    rows: [
      ['url', 'string', 'required'],
      ['format', 'string', { default: 'ndjson' }],
      ['method', 'string', { default: 'POST' }],
      ['authType', 'string', { default: 'none' }],
      ['token', 'string'],
      ['username', 'string'],
      ['password', 'string'],
      ['srcExpression', 'string'],
    ],
  },
  slack: {
    least: { slackUrl: 'https://hooks.slack.com/services/T0/B0/x' },
    optional: {},
    rows: [['slackUrl', 'string', 'required']],
  },
  pager_duty: {
    least: { routingKey: '0'.repeat(32), severity: 'error' },
    optional: { group: 'g', class: 'c', component: 'x' },
    rows: [
      ['routingKey', 'string', 'required'],
      ['severity', 'string', 'required'],
      ['group', 'string'],
      ['class', 'string'],
      ['component', 'string'],
    ],
  },
  sns: {
    least: {
      ...{ topicArn: 'arn:aws:sns:eu-central-1:123456789012:ops', region: 'eu-central-1' },
      ...{ destinationType: 'topic', messageGroupId: '' },
    },
    optional: {
      ...{ allowList: ['+15555551234', 'ops@example.com'], enableAssumeRole: true },
      assumeRoleArn: 'arn:aws:iam::123456789012:role/ops',
    },
    rows: [
      ['topicArn', 'string', 'required'],
      ['region', 'string', 'required'],
      ['awsAuthenticationMethod', 'string', { default: 'auto' }],
      ['destinationType', 'string', 'required'],
      ['topicType', 'string', { default: 'standard' }],
      ['messageGroupId', 'string', 'required'],
      ['allowList', 'list'],
      ['assumeRoleArn', 'string'],
      ['enableAssumeRole', 'boolean'],
    ],
  },
  smtp: {
    least: {
      ...{ host: 'mail.example', port: 587, smtpUsername: '', smtpPassword: '', from: 'ops@example.com' },
    },
    optional: { tls: { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3' } },
    rows: [
      ['host', 'string', 'required'],
      ['port', 'number', 'required'],
      ['smtpUsername', 'string', 'required'],
      ['smtpPassword', 'string', 'required'],
      ['from', 'string', 'required'],
      ['tls.rejectUnauthorized', 'boolean', { default: true }],
      ['tls.minVersion', 'string'],
      ['tls.maxVersion', 'string'],
    ],
  },
  router: {
    least: { routes: [{ filter: 'true', output: 'other' }] },
    optional: {},
    rows: [['routes', 'list', 'required']],
  },
  bulletin_message: { least: {}, optional: { message: 'look' }, rows: [['message', 'string']] },
  notifications_log: {
    least: {},
    optional: { logNotifications: false },
    rows: [['logNotifications', 'boolean']],
  },
};

const NOTIFICATION_ROWS: readonly Row[] = [
  ['id', 'string', 'required'],
  ['disabled', 'boolean', { default: false }],
  ['condition', 'string', 'required'],
  ['targets', 'list'],
  ['targetConfigs', 'list'],
  ['conf', 'object'],
  ['metadata', 'list'],
];

const WRONG = { string: {}, number: 'x', boolean: 'x', list: 'x', object: 'x' } as const;

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({
    notifications: {
      targets: [
        { id: 'other', type: 'bulletin_message' },
        { id: 'mail', type: 'smtp', ...TARGETS.smtp?.least },
      ],
    },
  });
  call = jsonCaller(server);
});

afterAll(() => server.stop());

/** Creates the item, and removes it again once it was read. */
async function created(path: string, item: Readonly<Record<string, unknown>>) {
  const { status, body } = await call('POST', path, item);
  const read = status === 200 ? await call('GET', `${path}/${String(item.id)}?effective=true`) : undefined;
  if (read !== undefined) expect((await call('DELETE', `${path}/${String(item.id)}`)).status).toBe(200);
  return { status, text: JSON.stringify(body), item: read?.body.items[0] as Record<string, unknown> };
}

/** The item with the field, of which dots separate parents, set or left out. */
function having(
  item: Readonly<Record<string, unknown>>,
  field: string,
  value: unknown,
): Record<string, unknown> {
  const [name = '', ...rest] = field.split('.');
  const { [name]: before, ...others } = item;
  if (rest.length === 0) return value === undefined ? others : { ...others, [name]: value };
  return { ...others, [name]: having((before ?? {}) as Record<string, unknown>, rest.join('.'), value) };
}

const fieldOf = (item: unknown, field: string): unknown =>
  field
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], item);

function followsRow(path: string, least: Readonly<Record<string, unknown>>, row: Row): void {
  const [field, type, more] = row;
  const last = field.split('.').at(-1) ?? '';
  it(`${field} is ${type === 'object' ? 'an' : 'a'} ${type}${more === 'required' ? ', and required' : ''}`, async () => {
    const without = await created(path, having(least, field, undefined));
    if (more === 'required') {
      expect(without.status).toBe(400);
      expect(without.text).toContain(last);
    } else expect(without.status, without.text).toBe(200);
    if (typeof more === 'object') expect(fieldOf(without.item, field)).toEqual(more.default);
    const wrong = await created(path, having(least, field, WRONG[type]));
    expect(wrong.status).toBe(400);
    expect(wrong.text).toContain(last);
  });
}

describe.each(Object.entries(TARGETS))('a target of type %s', (type, { least, optional, rows }) => {
  const item = { id: 'tried', type, ...least };
  for (const row of [...TARGET_ROWS, ...rows]) followsRow('/notification-targets', item, row);

  it('is created with what is required alone, and with every other field', async () => {
    expect(await created('/notification-targets', item)).toMatchObject({
      status: 200,
      item: { id: 'tried', type },
    });
    const full = await created('/notification-targets', { ...item, ...optional });
    expect(full.status, full.text).toBe(200);
    for (const [name, value] of Object.entries(optional))
      if (name !== 'token') expect(full.item[name]).toMatchObject(value as object);
  });
});

describe('a notification', () => {
  const least = { id: 'tried', condition: 'monitor-alerts', targets: ['other'], conf: {} };
  for (const row of NOTIFICATION_ROWS) followsRow('/notifications', least, row);
});

describe('an item of targetConfigs', () => {
  const config = { id: 'mail', conf: { emailRecipient: { to: 'ops@example.com' } } };
  const withConfig = (targetConfig: object) => ({
    ...noData('tried', 'syslog:app', '5m', 'mail'),
    targetConfigs: [targetConfig],
  });

  it.each([
    ['id', {}, undefined],
    ['id', { id: 7 }, undefined],
    ['conf.emailRecipient', { id: 'mail', conf: { subject: 'x' } }, 'emailRecipient'],
    ['conf.emailRecipient.to', { id: 'mail', conf: { emailRecipient: { cc: 'a@example.com' } } }, 'to'],
  ])('%s is required: %j is refused', async (field, targetConfig, named) => {
    const { status, text } = await created('/notifications', withConfig(targetConfig));
    expect(status).toBe(400);
    expect(text).toContain(named ?? field);
  });

  it.each([
    ['conf', undefined],
    ['conf.subject', 'A subject'],
    ['conf.body', 'Input ${input}'],
    ['conf.emailRecipient.to', 'a@example.com, b@example.com'],
    ['conf.emailRecipient.cc', 'c@example.com'],
    ['conf.emailRecipient.bcc', 'd@example.com'],
  ])('%s may be %j', async (field, value) => {
    if (value === undefined)
      return expect(
        (await created('/notifications', { ...withConfig({ id: 'other' }), targets: ['other'] })).status,
      ).toBe(200);
    const { status, text, item } = await created('/notifications', withConfig(having(config, field, value)));
    expect(status, text).toBe(200);
    expect(fieldOf(fieldOf(item, 'targetConfigs.0'), field)).toEqual(value);
  });

  it('conf is for smtp targets alone', async () => {
    const { status, text } = await created(
      '/notifications',
      withConfig({ id: 'other', conf: { subject: 'x' } }),
    );
    expect(status).toBe(400);
    expect(text).toContain('smtp');
  });
});
