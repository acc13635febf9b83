import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { ask } from '../helpers/hosted.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';
import { AUDIENCE } from '../helpers/tenants.ts';

let app: HostedApp;
beforeAll(async () => {
  app = await startHostedApp({ clock: systemClock });
});
afterAll(() => app.stop());

describe('the management plane', () => {
  it('answers 202 to the removal of a workspace', async () => {
    const made = await app.plane('acme', '/workspaces', { method: 'POST', body: { workspaceId: 'spare' } });
    expect(made.status).toBe(201);
    const removed = await app.plane('acme', '/workspaces/spare', { method: 'DELETE' });
    expect([removed.status, removed.body]).toEqual([202, '']);
    expect((await app.plane('acme', '/workspaces/spare')).status).toBe(404);
  });

  it('says to programs at its root that it is well, and shows people the page', async () => {
    const program = await ask(`${app.authUrl}/`, { headers: { accept: 'application/json' } });
    expect([program.status, program.body, program.headers.vary]).toEqual([200, { status: 'OK' }, 'accept']);
    for (const accept of ['text/html,application/xhtml+xml,application/json;q=0.9', '*/*']) {
      const person = await ask(`${app.authUrl}/`, { headers: { accept } });
      expect([person.status, person.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    }
  });
});

describe('what exists already', () => {
  const roles = { organizationRole: 'admin' };
  it.each([
    ['/workspaces', { workspaceId: 'main' }],
    ['/api-credentials', { name: 'robot', description: '', enabled: true, roles }],
    ['/members', { email: 'ann@acme.example', roles }],
  ])('is refused at %s in the words that clients look for', async (path, body) => {
    const { status, body: refusal } = await app.plane('acme', path, { method: 'POST', body });
    expect([status, refusal]).toMatchObject([
      409,
      { statusCode: 409, message: expect.stringContaining('already exists') },
    ]);
  });
});

describe('credentials of the other clients', () => {
  async function credential(workspace: object) {
    const made = await app.plane('acme', '/api-credentials', {
      method: 'POST',
      body: {
        ...{ name: `client-${JSON.stringify(workspace).length}`, description: '', enabled: true },
        roles: { organizationRole: 'user', workspaces: [{ workspaceId: 'main', ...workspace }] },
      },
    });
    expect([made.status, made.body]).toMatchObject([201, { clientSecret: expect.any(String) }]);
    return { client_id: made.body.clientId, client_secret: made.body.clientSecret };
  }
  const tokenOf = (body: object) =>
    ask(`${app.authUrl}/oauth/token`, {
      method: 'POST',
      body: { grant_type: 'client_credentials', ...body },
    });

  it('are in the workspace that they name, with no more than the own profile when they name no role', async () => {
    const client = await credential({ workspaceRole: 'user' });
    const [read] = (await app.plane('acme', '/api-credentials')).body.items.filter(
      (one: { clientId: string }) => one.clientId === client.client_id,
    );
    expect(read.roles).toEqual({
      organizationRole: 'user',
      workspaces: [
        { workspaceId: 'main', workspaceRole: 'user', products: [{ product: 'stream', role: 'user' }] },
      ],
    });
    const { body } = await tokenOf({ ...client, audience: AUDIENCE });
    const asked = (path: string) => app.api('main-acme', path, { token: body.access_token });
    expect((await asked('/auth/me')).status).toBe(200);
    expect((await asked('/system/inputs')).status).toBe(403);
  });

  it('get tokens for the only audience without naming it, and name it by either parameter', async () => {
    const client = await credential({ workspaceRole: 'admin' });
    for (const named of [
      {},
      { resource: AUDIENCE },
      { audience: AUDIENCE },
      { audience: AUDIENCE, resource: AUDIENCE },
    ]) {
      const { status, body } = await tokenOf({ ...client, ...named });
      expect([status, body.token_type], JSON.stringify(named)).toEqual([200, 'Bearer']);
      expect((await app.api('main-acme', '/system/inputs', { token: body.access_token })).status).toBe(200);
    }
    for (const named of [
      { resource: 'https://x.example' },
      { audience: AUDIENCE, resource: 'https://x.example' },
    ])
      expect(await tokenOf({ ...client, ...named })).toMatchObject({
        status: 403,
        body: { error: 'access_denied' },
      });
  });

  it('are refused by the names of the fields that were sent', async () => {
    const refused = async (body: object) =>
      (
        await app.plane('acme', '/api-credentials', {
          method: 'POST',
          body: { name: 'x', description: '', enabled: true, roles: { organizationRole: 'admin' }, ...body },
        })
      ).body.errors[0].path;
    expect(await refused({ expiresDate: '2020-01-01T00:00:00Z' })).toBe('expiresDate');
    const of = (workspaces: readonly object[]) => ({ roles: { organizationRole: 'user', workspaces } });
    expect(await refused(of([{ workspaceId: 'none', workspaceRole: 'admin' }]))).toBe(
      'roles.workspaces[0].workspaceId',
    );
    expect(await refused(of([]))).toBe('roles.workspaces');
  });
});

it('says nothing of the machine to a workspace', async () => {
  const [info] = (await app.api('main-acme', '/system/info')).body.items;
  for (const name of ['hostname', 'loadavg', 'memory', 'cpus', 'os']) expect(info).not.toHaveProperty(name);
});
