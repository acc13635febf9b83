import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../helpers/until.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const TOKEN = 'token-of-the-monitors';
const HOUR = 3_600_000;

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({
    settings: { pipelines: [{ id: 'edge', engine: 'custom', push: true, token: TOKEN }] },
    notifications: {
      targets: [{ id: 'log', type: 'notifications_log' }],
      notifications: [{ id: 'monitors', condition: 'monitor-alerts', targets: ['log'] }],
    },
  });
  call = jsonCaller(server);
});

afterAll(() => server.stop());

const inHours = (hours: number): string => new Date(Date.now() + hours * HOUR).toISOString();

async function post(key: string, state: 'ALARM' | 'OK'): Promise<void> {
  const events = [{ condition: 'monitor-alerts', key, state, fields: { team: key } }];
  const { status } = await server.call('POST', '/ingest/events', {
    headers: [['authorization', `Bearer ${TOKEN}`], JSON_BODY],
    body: JSON.stringify(events),
  });
  expect(status).toBe(200);
}

interface Answer {
  readonly status: number;
  readonly item: Record<string, unknown>;
  readonly message: string;
  readonly errors: readonly { readonly path: string; readonly message: string }[];
}

async function ask(
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
): Promise<Answer> {
  const answer = await call(method, path, body);
  const { items, message = '', errors = [] } = answer.body;
  return { status: answer.status, item: items?.[0] ?? {}, message, errors };
}

async function deliveryOf(subject: string): Promise<Record<string, unknown> | undefined> {
  const { body } = await call('GET', '/deliveries?limit=100');
  return body.items.find((one: { subject: string }) => one.subject === subject);
}

describe('a silence', () => {
  it('holds an alarm back from the answer on, shows it, and lets it go when it is expired', async () => {
    const matchers = [{ name: 'team', op: '=~', value: 'database-.' }];
    const made = await ask('POST', '/silences', {
      id: 'upgrade',
      matchers,
      endsAt: inHours(1),
      comment: 'Databases are upgraded.',
    });
    expect(made.item).toMatchObject({ id: 'upgrade', state: 'active', matchers, createdBy: 'admin' });
    await post('database-1', 'ALARM');
    expect(await deliveryOf('database-1')).toMatchObject({
      state: 'grouped',
      heldBecause: expect.stringMatching(/^silenced until .* by silence 'upgrade'$/),
    });
    const endsAt = inHours(2);
    await ask('PATCH', '/silences/upgrade', { endsAt });
    expect(await deliveryOf('database-1')).toMatchObject({ nextAt: endsAt });
    const shown = await ask('GET', '/silences/upgrade');
    expect(shown.item).toMatchObject({
      incidentCount: 1,
      incidents: [{ notification: 'monitors', subject: 'database-1' }],
    });
    expect((await ask('DELETE', '/silences/upgrade')).item).toMatchObject({ state: 'expired' });
    await until(async () => (await deliveryOf('database-1'))?.state === 'sent', 'the alarm is sent');
    const listed = await call('GET', '/silences?state=expired');
    expect(listed.body.items).toMatchObject([{ id: 'upgrade' }]);
  });

  it('is extended and shortened, and takes what a read of it shows back', async () => {
    const { item } = await ask('POST', '/silences', {
      matchers: [{ name: 'team', value: 'web' }],
      startsAt: inHours(1),
      endsAt: inHours(2),
      comment: 'Later.',
    });
    expect(item).toMatchObject({ state: 'pending', matchers: [{ name: 'team', op: '=', value: 'web' }] });
    const path = `/silences/${String(item.id)}`;
    const endsAt = inHours(3);
    const extended = await ask('PATCH', path, {
      ...(await ask('GET', path)).item,
      endsAt,
      comment: 'Much later.',
    });
    expect(extended.item).toMatchObject({ endsAt, comment: 'Much later.', startsAt: item.startsAt });
    expect((await ask('PATCH', path, { endsAt: inHours(-1) })).errors).toMatchObject([{ path: 'endsAt' }]);
    expect((await ask('PATCH', path, { matchers: [{ name: 'team', value: 'all' }] })).message).toContain(
      'create another',
    );
    await ask('DELETE', path);
    expect(await ask('PATCH', path, { endsAt })).toMatchObject({ status: 409 });
    expect(await ask('DELETE', path)).toMatchObject({ status: 200, item: { state: 'expired' } });
  });

  it('needs an end, at most seven days ahead where it ends with its incidents', async () => {
    const given = { matchers: [{ name: 'team', value: 'mail' }], comment: 'Until it is over.' };
    expect((await ask('POST', '/silences', given)).errors).toMatchObject([{ path: 'endsAt' }]);
    const { item } = await ask('POST', '/silences', { ...given, until: 'resolved' });
    expect(Date.parse(String(item.endsAt)) - Date.parse(String(item.startsAt))).toBe(7 * 24 * HOUR);
    expect(
      (await ask('POST', '/silences', { ...given, until: 'resolved', endsAt: inHours(200) })).errors,
    ).toMatchObject([{ path: 'endsAt' }]);
    await post('mail', 'ALARM');
    await post('mail', 'OK');
    await until(
      async () => (await ask('GET', `/silences/${String(item.id)}`)).item.state === 'expired',
      'the silence is over',
    );
  });

  it.each([
    [{ matchers: [] }, 'matchers'],
    [{ matchers: [{ name: 'team', op: '=~', value: '(a' }] }, 'matchers[0].value'],
    [{ matchers: [{ name: 'team', op: '=~', value: '.*' }] }, 'matchers'],
    [{ comment: '' }, 'comment'],
    [{ endsAt: inHours(-1) }, 'endsAt'],
    [{ startsAt: inHours(5) }, 'endsAt'],
    [{ endsAt: 'tomorrow' }, 'endsAt'],
  ])('is refused with %j, at its place', async (change, path) => {
    const good = { matchers: [{ name: 'team', value: 'a' }], endsAt: inHours(1), comment: 'Quiet.' };
    expect((await ask('POST', '/silences', { ...good, ...change })).errors[0]).toMatchObject({ path });
  });
});
