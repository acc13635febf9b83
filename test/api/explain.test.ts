import { afterAll, beforeAll, expect, it } from 'vitest';
import { contractServer } from '../helpers/contract-server.ts';
import { pagerDutyServer } from '../helpers/pager-duty.ts';
import { slackServer } from '../helpers/slack.ts';
import { until } from '../helpers/until.ts';
import { addedUser } from '../helpers/users.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { type JsonAnswer, jsonCaller } from './json.ts';

const TOKEN = 'token-of-the-pipeline';
const SECRET = 'a-secret-that-nobody-reads';
const ROUTING_KEY = 'c0ffee00c0ffee00c0ffee00c0ffee00';

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;
let slack: Awaited<ReturnType<typeof slackServer>>;
let pager: Awaited<ReturnType<typeof pagerDutyServer>>;
let hook: Awaited<ReturnType<typeof contractServer>>;

beforeAll(async () => {
  slack = await slackServer(() => ({ status: 200, body: 'ok' }));
  pager = await pagerDutyServer();
  hook = await contractServer(() => ({ status: 200, body: '' }));
  server = await startApiServer({
    settings: { pipelines: [{ id: 'own', engine: 'custom', push: true, token: TOKEN }] },
    notifications: {
      targets: [
        { id: 'chat', type: 'slack', slackUrl: `${slack.url}/services/T0/B0/key-of-the-webhook` },
        { id: 'pager', type: 'pager_duty', routingKey: ROUTING_KEY, severity: 'error', url: pager.url },
        {
          id: 'hook',
          type: 'webhook',
          url: `${hook.url}/hooks/of-the-team`,
          format: 'json_array',
          authType: 'token',
          token: SECRET,
          fallback: 'book',
        },
        { id: 'book', type: 'notifications_log' },
        { id: 'bell', type: 'bulletin_message', title: 'Traffic', message: 'Look: ${_raw}' },
        {
          id: 'mail',
          type: 'smtp',
          host: '127.0.0.1',
          port: 2525,
          from: 'headgate@example.com',
          encryptionOption: 'NONE',
          smtpUsername: '',
          smtpPassword: '',
        },
        {
          id: 'topic',
          type: 'sns',
          destinationType: 'topic',
          topicArn: "'arn:aws:sns:eu-west-1:123456789012:alarms'",
          topicType: 'standard',
          messageGroupId: '',
          region: 'eu-west-1',
          awsAuthenticationMethod: 'manual',
          awsApiKey: 'AKIDEXAMPLE',
          awsSecretKey: 'secret-key-of-aws',
        },
        {
          id: 'by_severity',
          type: 'router',
          routes: [
            { filter: "severity == 'error'", output: 'pager', final: false },
            { filter: "input == 'http:shop'", output: 'hook' },
            { filter: 'true', output: 'chat' },
          ],
        },
        { id: 'by_nobody', type: 'router', routes: [{ filter: "input == 'none'", output: 'chat' }] },
      ],
      notifications: [
        {
          id: 'shop_silent',
          condition: 'no-data',
          targets: ['by_severity', 'bell'],
          severity: 'error',
          conf: { name: 'http:shop', timeWindow: '10m' },
          for: '5m',
          repeatInterval: '1h',
          escalateAfter: '15m',
          escalateTo: ['chat'],
        },
        {
          id: 'full',
          condition: 'high-volume',
          targets: ['hook', 'pager'],
          conf: { name: 'http:*', dataVolume: '100 events', timeWindow: '1h' },
        },
        {
          id: 'all_types',
          condition: 'source-errors',
          targets: ['chat', 'pager', 'hook', 'book', 'bell', 'mail', 'topic'],
          targetConfigs: [{ id: 'mail', conf: { emailRecipient: { to: 'ops@example.com' } } }],
          conf: { name: 'http:shop', threshold: 5, timeWindow: '5m' },
        },
        {
          id: 'muted',
          condition: 'low-volume',
          targets: ['hook'],
          conf: { name: 'http:shop', dataVolume: '1 events', timeWindow: '1h' },
          muteWindows: [{ weekdays: ['mon-sun'], timezone: 'UTC' }],
        },
        {
          id: 'grouped',
          condition: 'monitor-alerts',
          targets: ['hook', 'pager', 'by_nobody'],
          groupBy: ['team'],
          groupWait: '10m',
          conf: {},
        },
        { id: 'off', condition: 'no-data', disabled: true, targets: ['hook'], conf: { name: 's3:gone' } },
        { id: 'nowhere', condition: 'no-data', targets: ['hook'], conf: { name: 'kafka:*' } },
        {
          id: 'beat',
          condition: 'heartbeat',
          targets: ['hook'],
          conf: { name: 'backup', timeWindow: '25h' },
        },
      ],
    },
  });
  call = jsonCaller(server);
  await push([
    ['shop', 'in_events', 40],
    ['shop', 'errors', 2],
  ]);
});

afterAll(async () => {
  await server.stop();
  for (const one of [slack, pager, hook]) await one.stop();
});

async function ingest(path: string, body: object): Promise<void> {
  const answer = await server.call('POST', `/ingest/${path}`, {
    headers: [['authorization', `Bearer ${TOKEN}`], JSON_BODY],
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
}

const push = (samples: readonly (readonly [string, string, number])[]): Promise<void> =>
  ingest('samples', {
    temporality: 'delta',
    samples: samples.map(([id, metric, value]) => ({ kind: 'input', type: 'http', id, metric, value })),
  });

async function explained(query: string): Promise<JsonAnswer['body']> {
  const { status, body } = await call('GET', `/explain?${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.items[0];
}

/** What differs from one event to the next. */
const withoutIdentity = (body: string): string =>
  body
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<id>')
    .replace(/"(_time|starttime|endtime|since|lastDataAt)":\d+/g, '"$1":0')
    .replace(/"timestamp":"[^"]*"/g, '"timestamp":""');

it('shows by its numbers why a notification does not alert, and when it does at the earliest', async () => {
  const { notifications, at } = await explained('notification=shop_silent');
  const [{ subjects, firesAt, ...notification }] = notifications;
  expect(notification).toMatchObject({
    notification: 'shop_silent',
    condition: 'no-data',
    total: 1,
    repeatMs: 3_600_000,
    escalateAfterMs: 900_000,
  });
  const [subject] = subjects;
  expect(subject).toMatchObject({
    name: 'http:shop',
    state: 'ok',
    component: { kind: 'input', id: 'shop', pipeline: 'own' },
    provided: 'no data comes until then',
    facts: [
      {
        name: 'time without data',
        unit: 'milliseconds',
        alarm: { when: 'at least', limit: 600_000 },
      },
    ],
  });
  const [{ value }] = subject.facts;
  expect(value).toBeLessThan(600_000);
  // The window is not over, and then it must hold for 5 minutes.
  const inMs = Date.parse(firesAt) - Date.parse(at);
  expect(Math.abs(inMs - (600_000 - value + 300_000))).toBeLessThan(5000);
  expect(subject.firesAt).toBe(firesAt);
});

it('names who gets it by which routes, who when nobody acknowledges it, and who when a target fails', async () => {
  const [{ message, firesAt }] = (await explained('notification=shop_silent')).notifications;
  const recipients = message.recipients.map(
    ({ target, role, routes, insteadOf }: Record<string, unknown>) => ({ target, role, routes, insteadOf }),
  );
  expect(recipients).toEqual([
    {
      target: 'pager',
      role: 'target',
      routes: [{ router: 'by_severity', place: 'routes[0]', filter: "severity == 'error'" }],
    },
    {
      target: 'hook',
      role: 'target',
      routes: [{ router: 'by_severity', place: 'routes[1]', filter: "input == 'http:shop'" }],
    },
    { target: 'book', role: 'fallback', routes: [], insteadOf: 'hook' },
    { target: 'bell', role: 'target', routes: [] },
    { target: 'chat', role: 'escalation', routes: [] },
  ]);
  const timeOf = (id: string) =>
    message.recipients.find(({ target }: { target: string }) => target === id).at;
  expect(timeOf('pager')).toBe(firesAt);
  expect(Date.parse(timeOf('chat')) - Date.parse(firesAt)).toBe(900_000);
  // Nobody knows when the other fails.
  expect(timeOf('book')).toBeUndefined();
});

it('renders the message for each type as that sends it, without its secrets', async () => {
  // What came before the first evaluation is in no window.
  await explained('notification=all_types');
  await push([['shop', 'errors', 2]]);
  const { status, text, body } = await call('GET', '/explain?notification=all_types');
  expect(status).toBe(200);
  for (const secret of [SECRET, ROUTING_KEY, 'key-of-the-webhook', 'secret-key-of-aws'])
    expect(text).not.toContain(secret);
  const [{ message, subjects }] = body.items[0].notifications;
  expect(subjects[0].facts).toEqual([
    expect.objectContaining({ name: 'errors', value: 2, alarm: { when: 'more than', limit: 5 } }),
  ]);
  const raw = 'Source http:shop reported 6 errors in 5m';
  expect(message.event).toMatchObject({ status: 'ALARM', _raw: raw, count: 6, threshold: 5 });
  const shown = Object.fromEntries(
    message.recipients.map((one: { target: string; message: object }) => [one.target, one.message]),
  );
  expect(shown).toMatchObject({
    chat: { kind: 'request', method: 'POST' },
    pager: { kind: 'request', url: pager.url },
    hook: { kind: 'request', url: `${hook.url}/hooks/of-the-team`, headers: { authorization: '********' } },
    book: { kind: 'text', title: 'notifications.log' },
    bell: { kind: 'text', title: 'Traffic', text: `Look: ${raw}\ncribl_host: headgate` },
    mail: {
      kind: 'mail',
      from: 'headgate@example.com',
      to: ['ops@example.com'],
      subject: `[ALARM] all_types: ${raw}`,
    },
    topic: { kind: 'text', title: 'Publish' },
  });
  expect(JSON.parse(shown.pager.body)).toMatchObject({ routing_key: '********', payload: { summary: raw } });
  expect(JSON.parse(shown.hook.body)[0]).toMatchObject({ _raw: raw, input: 'http:shop' });
  expect(shown.chat.body).toContain(raw);
  expect(JSON.parse(shown.topic.text).TopicArn).toBe('arn:aws:sns:eu-west-1:123456789012:alarms');
  // Nothing of it has left.
  expect([...slack.received, ...pager.received, ...hook.received]).toEqual([]);
  expect((await call('GET', '/deliveries')).body.items).toEqual([]);
});

it('shows the very body that targets get once it alerts', async () => {
  const before = (await explained('notification=full')).notifications[0];
  expect(before.subjects.map(({ name, state }: Record<string, unknown>) => [name, state])).toEqual([
    ['http:shop', 'ok'],
  ]);
  await push([['shop', 'in_events', 101]]);
  await until(() => hook.received.length === 1 && pager.received.length === 1, 'the alarm at both');
  const { notifications } = await explained('notification=full');
  const [{ subjects, message }] = notifications;
  expect(subjects[0]).toMatchObject({
    name: 'http:shop',
    state: 'open',
    facts: [{ value: 101, unit: 'events', alarm: { when: 'more than', limit: 100 }, windowMs: 3_600_000 }],
  });
  expect(subjects[0].firesAt).toBeUndefined();
  const bodyOf = (id: string): string =>
    message.recipients.find(({ target }: { target: string }) => target === id).message.body;
  expect(withoutIdentity(bodyOf('hook'))).toBe(withoutIdentity(hook.received[0]?.body ?? ''));
  expect(withoutIdentity(bodyOf('pager'))).toBe(
    withoutIdentity(pager.received[0]?.body ?? '').replace(ROUTING_KEY, '********'),
  );
  const incident = subjects[0].incident.id;
  const about = await explained(`incident=${incident}`);
  expect(about).toMatchObject({
    about: { kind: 'incident', id: incident },
    incident: { state: 'open', notified: 'somebody' },
    notifications: [{ notification: 'full', total: 1, subjects: [{ state: 'open', name: 'http:shop' }] }],
  });
});

it('says what holds an alarm, and until when', async () => {
  const muted = (await explained('notification=muted')).notifications[0].message.recipients[0];
  expect(muted.holds).toEqual([
    expect.objectContaining({ kind: 'muted', because: expect.stringMatching(/^muted/) }),
  ]);
  const event = { condition: 'monitor-alerts', key: 'cpu', state: 'ALARM', fields: { team: 'shop' } };
  const grouped = (await call('POST', '/explain', { event })).body.items[0];
  const [{ message }] = grouped.notifications;
  const holdsOf = (id: string) =>
    message.recipients.find(({ target }: { target: string }) => target === id).holds;
  expect(holdsOf('hook')).toEqual([
    expect.objectContaining({ kind: 'grouped', because: expect.stringContaining('agrees in team') }),
  ]);
  // Each of its messages is about one event.
  expect(holdsOf('pager')).toEqual([]);
  const silence = await call('POST', '/silences', {
    matchers: [{ name: 'team', op: '=', value: 'shop' }],
    endsAt: new Date(Date.now() + 3_600_000).toISOString(),
    comment: 'at work on it',
  });
  expect(silence.status).toBe(200);
  const [{ id, endsAt }] = silence.body.items;
  const silenced = (await call('POST', '/explain', { event })).body.items[0].notifications[0].message;
  expect(silenced.recipients[0]).toMatchObject({
    at: endsAt,
    holds: [{ kind: 'silenced', because: expect.stringContaining(`silence '${id}'`), until: endsAt }],
  });
  await call('DELETE', `/silences/${id}`);
});

it('names the inhibition of the configuration that holds an alarm, and the incident', async () => {
  const inhibition = {
    id: 'site_down',
    when: [{ name: 'team', op: '=', value: 'network' }],
    hold: [{ name: 'team', op: '=', value: 'shop' }],
  };
  expect((await call('POST', '/inhibitions', inhibition)).status).toBe(200);
  const fields = { team: 'network' };
  await ingest('events', { condition: 'monitor-alerts', key: 'line', state: 'ALARM', fields });
  const [open] = (await call('GET', '/incidents?notification=grouped')).body.items;
  const event = { condition: 'monitor-alerts', key: 'cpu', state: 'ALARM', fields: { team: 'shop' } };
  const { message } = (await call('POST', '/explain', { event })).body.items[0].notifications[0];
  expect(message.recipients[0].holds).toEqual([
    { kind: 'inhibited', because: expect.stringContaining(`incident ${open.id}`) },
  ]);
  // Nobody knows when it ends.
  expect(message.recipients[0].at).toBeUndefined();
  await ingest('events', { condition: 'monitor-alerts', key: 'line', state: 'OK', fields });
});

it('explains an external event and sends and stores nothing', async () => {
  const event = {
    condition: 'monitor-alerts',
    key: 'disk',
    state: 'ALARM',
    fields: { team: 'stock', value: 9 },
  };
  const received = hook.received.length;
  const { body, status } = await call('POST', '/explain', { event });
  expect(status).toBe(200);
  expect(body.items[0]).toMatchObject({
    about: { kind: 'event', id: 'disk' },
    notifications: [
      {
        notification: 'grouped',
        message: {
          about: 'disk',
          event: { _raw: 'Monitor disk is firing: 9', team: 'stock' },
          deadEnds: ['by_nobody'],
        },
      },
    ],
  });
  expect((await call('GET', '/incidents?notification=grouped&state=open')).body.items).toEqual([]);
  expect(hook.received).toHaveLength(received);
  const ended = await call('POST', '/explain', { event: { ...event, state: 'OK' } });
  expect(ended.body.items[0].notifications[0].note).toMatch(/none to end/);
  const untaken = await call('POST', '/explain', { event: { ...event, condition: 'search' } });
  expect(untaken.body.items[0]).toMatchObject({
    total: 0,
    note: expect.stringMatching(/no notification has the condition search/),
  });
  const bad = await call('POST', '/explain', { event: { ...event, state: 'MAYBE' } });
  expect(bad.status).toBe(400);
});

it('explains an input by the notifications that are about it', async () => {
  const { notifications, total, note } = await explained('component=http:shop');
  const named = notifications.map((one: { notification: string }) => one.notification);
  expect(named).toEqual(['shop_silent', 'full', 'all_types', 'muted']);
  expect(total).toBe(4);
  expect(note).toBeUndefined();
  for (const { subjects } of notifications)
    expect(subjects.map(({ name }: { name: string }) => name)).toEqual(['http:shop']);
});

it('says that nobody watches a component, and what to do about it', async () => {
  await ingest('samples', {
    samples: [{ kind: 'input', type: 'kinesis', id: 'lonely', metric: 'in_events', value: 1 }],
  });
  const alone = await explained('component=kinesis:lonely');
  expect(alone).toMatchObject({
    total: 0,
    notifications: [],
    note: expect.stringMatching(/no notification is about kinesis:lonely.*headgate suggest kinesis:lonely/),
  });
  const disabled = await explained('component=s3:gone');
  expect(disabled).toMatchObject({
    note: expect.stringMatching(/only disabled notifications are about s3:gone/),
    notifications: [{ notification: 'off', disabled: true, note: expect.stringMatching(/disabled: false/) }],
  });
});

it('says what a pattern without any match, a name that was never seen, and a heartbeat wait for', async () => {
  const [nowhere] = (await explained('notification=nowhere')).notifications;
  expect(nowhere).toMatchObject({ total: 0, note: expect.stringMatching(/nothing matches it now/) });
  // Who would get it is known all the same.
  expect(nowhere.message.recipients[0].target).toBe('hook');
  const [beat] = (await explained('notification=beat')).notifications;
  expect(beat).toMatchObject({
    total: 1,
    subjects: [
      {
        name: 'backup',
        state: 'ok',
        provided: 'no heartbeat comes until then',
        facts: [{ name: 'time without a heartbeat', alarm: { when: 'at least', limit: 90_000_000 } }],
      },
    ],
    message: { event: { _raw: 'Heartbeat backup is overdue: it has never come' } },
  });
});

it('shows the address of a target in part to who may not change targets', async () => {
  const { call: reader } = await addedUser(server, 'rita', { roles: ['reader'] });
  const { status, text, body } = await reader('GET', '/explain?notification=all_types');
  expect(status).toBe(200);
  expect(text).not.toContain('/hooks/of-the-team');
  const [{ message }] = body.items[0].notifications;
  const shown = message.recipients.find(({ target }: { target: string }) => target === 'hook').message;
  expect(shown).toMatchObject({ kind: 'request', url: expect.stringContaining(new URL(hook.url).host) });
});

it('explains what belongs to a group below its path, and nothing else', async () => {
  const of = async (group: string, query: string) => {
    const { status, body } = await call('GET', `/m/${group}/explain?${query}`);
    return [status, body.items?.[0].total];
  };
  const elsewhere = {
    id: 'elsewhere',
    group: 'shops',
    condition: 'monitor-alerts',
    targets: ['hook'],
    conf: {},
  };
  expect((await call('POST', '/notifications', elsewhere)).status).toBe(200);
  expect(await of('shops', 'notification=elsewhere')).toEqual([200, 1]);
  expect(await of('default', 'notification=shop_silent')).toEqual([200, 1]);
  expect((await of('shops', 'notification=shop_silent'))[0]).toBe(404);
  expect((await of('default', 'notification=elsewhere'))[0]).toBe(404);
  expect(await of('default', 'component=http:shop')).toEqual([200, 4]);
  expect((await of('shops', 'component=http:shop'))[0]).toBe(404);
});

it('refuses an unknown id with the remedy', async () => {
  const refused = async (query: string) => {
    const { status, body } = await call('GET', `/explain?${query}`);
    return [status, body.message];
  };
  expect(await refused('notification=shop_silen')).toEqual([
    404,
    expect.stringContaining("did you mean 'shop_silent'?"),
  ]);
  expect(await refused('component=http:shpo')).toEqual([
    404,
    expect.stringContaining("did you mean 'http:shop'?"),
  ]);
  expect(await refused('incident=none')).toEqual([404, expect.stringContaining('headgate incidents list')]);
  expect(await refused('')).toEqual([400, expect.stringContaining('exactly one')]);
  expect(await refused('notification=full&component=http:shop')).toEqual([
    400,
    expect.stringContaining('exactly one'),
  ]);
});
