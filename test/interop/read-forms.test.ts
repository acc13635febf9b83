import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servedRoutes } from '../../src/api/v1/index.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';
import { type Caller, eachDeployment, itemsOf } from './deployments.ts';

const HOUR_MS = 3_600_000;

/** What changes by itself is ignored whatever it says. */
const PASSING = {
  status: { health: 'Red' },
  notifications: [{ id: 'x' }],
  count: 7,
  updatedAt: '2001-01-01T00:00:00.000Z',
  lastDataAt: '2001-01-01T00:00:00.000Z',
};

/** One of each resource: what makes it, and the parameters of the path where it is read and changed. */
const SEEDS: readonly { readonly post?: readonly [string, object]; readonly at: string }[] = [
  {
    post: [
      '/notification-targets',
      { id: 'hook', type: 'webhook', url: 'https://example.com/x', authType: 'token', token: 'kept' },
    ],
    at: '/notification-targets/hook',
  },
  {
    post: [
      '/notifications',
      {
        id: 'quiet',
        condition: 'no-data',
        targets: ['hook'],
        conf: { name: 'syslog:app', timeWindow: '5m' },
      },
    ],
    at: '/notifications/quiet',
  },
  { at: '/m/default/notifications/quiet' },
  { at: '/m/default/notification-targets/hook' },
  {
    post: [
      '/inhibitions',
      {
        id: 'host_down',
        when: [{ name: 'condition', op: '=', value: 'pipeline-unreachable' }],
        hold: [{ name: 'severity', op: '=~', value: 'info|warn' }],
      },
    ],
    at: '/inhibitions/host_down',
  },
  { post: ['/system/inputs', { id: 'app', type: 'syslog', password: 'kept' }], at: '/system/inputs/app' },
  { at: '/m/default/system/inputs/app' },
  { post: ['/system/outputs', { id: 'lake', type: 's3' }], at: '/system/outputs/lake' },
  { at: '/m/default/system/outputs/lake' },
  {
    post: [
      '/silences',
      {
        ...{
          id: 'upgrade',
          comment: 'upgraded',
          matchers: [{ name: 'input', op: '=', value: 'syslog:app' }],
        },
        endsAt: new Date(Date.now() + HOUR_MS).toISOString(),
      },
    ],
    at: '/silences/upgrade',
  },
  {
    post: ['/system/ingest-tokens', { id: 'collectors', pipeline: 'pushed' }],
    at: '/system/ingest-tokens/collectors',
  },
  {
    post: ['/master/groups', { id: 'shops', description: 'All shops' }],
    at: '/master/groups/shops',
  },
  { at: '/products/stream/groups/shops' },
  {
    post: [
      '/system/users',
      { id: 'ann', username: 'ann', password: 'wrenched-otter-lamps', roles: ['reader'] },
    ],
    at: '/system/users/ann',
  },
  { at: '/m/default/system/users/ann' },
  { at: '/system/users/admin/info' },
  { at: '/system/settings/conf' },
  { at: '/m/default/system/settings/conf' },
  { at: '/system/settings/auth' },
  { at: '/m/default/system/settings/auth' },
];

/** Changes of what is no object that one reads there. */
const NO_OBJECTS = ['configuration.import', 'secrets.put', 'secrets.putInGroup'];

const changes = servedRoutes.filter(
  ({ method, path, id }) =>
    (method === 'PATCH' || method === 'PUT') && !path.endsWith('/deploy') && !NO_OBJECTS.includes(id),
);

const placeOf = (path: string) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`);

async function seed({ call }: Caller): Promise<void> {
  const pipelines = [{ id: 'pushed', push: true, engine: 'vector' }];
  await itemsOf(call('PATCH', '/system/settings/conf', { pipelines }));
  for (const { post } of SEEDS) if (post !== undefined) await call('POST', ...post);
}

eachDeployment('a read form', (caller, kind) => {
  const { call } = caller;
  beforeAll(() => seed(caller));

  const served = changes.filter(route => kind === 'self-managed' || !route.isOfInstallation);

  it.each(served.map(({ id, path }) => ({ id, path })))(
    'is taken back by $id, which leaves it as it is',
    async ({ path }) => {
      const at = SEEDS.map(one => one.at).find(one => placeOf(path).test(one)) ?? `none at ${path}`;
      const [read] = await itemsOf(call('GET', at));
      const [answered] = await itemsOf(call('PATCH', at, read));
      expect(withoutPassing(answered)).toEqual(withoutPassing(read));
      await itemsOf(call('PATCH', at, { ...read, ...PASSING }));
      const [after] = await itemsOf(call('GET', at));
      expect(withoutPassing(after)).toEqual(withoutPassing(read));
      // Of the own profile only an admin changes the id, which is 403.
      for (const key of ['createdAt', 'createdBy', 'kind', 'id'])
        if (read[key] !== undefined && !(key === 'id' && at.endsWith('/info'))) {
          const changed = key === 'kind' ? 'machine' : key === 'createdAt' ? PASSING.updatedAt : 'other';
          const refused = await call('PATCH', at, { ...read, [key]: changed });
          expect([key, refused.status, refused.body.errors?.[0]?.path]).toEqual([key, 400, key]);
        }
    },
  );

  it('of what is over is taken back as well', async () => {
    await itemsOf(call('DELETE', '/silences/upgrade'));
    const [over] = await itemsOf(call('GET', '/silences/upgrade'));
    expect(over.state).toBe('expired');
    expect(await itemsOf(call('PATCH', '/silences/upgrade', over))).toEqual([over]);
  });
});

const withoutPassing = ({ updatedAt: _, headgate: __, ...rest }: Record<string, unknown>) => rest;

describe('a read form of the management plane', () => {
  let app: HostedApp;
  beforeAll(async () => {
    app = await startHostedApp({ clock: systemClock });
  });
  afterAll(() => app.stop());

  const roles = {
    organizationRole: 'user',
    workspaces: [
      { workspaceId: 'main', workspaceRole: 'user', products: [{ product: 'stream', role: 'editor' }] },
    ],
  };

  it.each([
    ['/api-credentials', 'clientId', { name: 'client', description: 'A client', enabled: true, roles }],
    ['/members', 'userId', { email: 'bob@acme.example', roles }],
    ['/workspaces', 'workspaceId', { workspaceId: 'spare', alias: 'Spare', tags: ['one'] }],
  ])('is taken back at %s, which leaves it as it is', async (path, key, body) => {
    const made = await app.plane('acme', path, { method: 'POST', body });
    expect(made.status).toBe(201);
    const at = `${path}/${made.body[key]}`;
    const { body: read } = await app.plane('acme', at);
    const patched = await app.plane('acme', at, { method: 'PATCH', body: { ...read, ...PASSING } });
    expect([patched.status, patched.body]).toEqual([204, '']);
    const { body: after } = await app.plane('acme', at);
    const passing = { lastUpdated: '', lastUpdatedDate: '', lastUpdatedBy: '' };
    expect({ ...after, ...passing }).toEqual({ ...read, ...passing });
    const fixed = read.createdDate === undefined ? { organizationId: 'corp' } : { createdDate: '2001-01-01' };
    const refused = await app.plane('acme', at, { method: 'PATCH', body: { ...read, ...fixed } });
    expect([refused.status, refused.body.message]).toEqual([
      400,
      expect.stringContaining(`${Object.keys(fixed)[0]}: cannot be changed`),
    ]);
  });
});
