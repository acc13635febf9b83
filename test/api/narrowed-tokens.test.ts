import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import type { LoginService } from '../../src/app/deployments/login-service.ts';
import { openTenants, type Tenants } from '../helpers/tenants.ts';
import { poster, tokenRequest } from '../helpers/token-calls.ts';

let tenants: Tenants;
let service: LoginService;
let owner: { readonly clientId: string; readonly clientSecret: string };

beforeAll(async () => {
  tenants = await openTenants();
  service = await tenants.serve();
  owner = await tenants.credential({ organizationRole: 'owner' });
});
afterAll(async () => {
  await service.stop();
  await tenants.close();
});

/** Calls with a token that was asked for the scope. */
async function withScope(scope: string) {
  const { text } = await poster(service.url)(tokenRequest(owner, { scope }));
  const { access_token: token } = z.object({ access_token: z.string() }).parse(JSON.parse(text));
  return async (method: string, path: string, body?: object) => {
    const response = await fetch(`${service.url}/v1/organizations/acme/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
}

it('manages nothing of an organization that its token was not asked for, whatever the credential may do', async () => {
  const call = await withScope('user:read:inputs user:read:members');
  expect((await call('GET', 'members')).status).toBe(200);
  for (const path of ['api-credentials', 'workspaces', 'audit'])
    expect(await call('GET', path)).toMatchObject({
      status: 403,
      text: expect.stringContaining('The token was asked for without the permission'),
    });
  expect((await call('POST', 'workspaces', { workspaceId: 'fresh' })).status).toBe(403);
});

it('changes what it was asked for, but nobody who could do more than it', async () => {
  const call = await withScope('user:update:workspaces user:update:credentials user:update:members');
  expect((await call('POST', 'workspaces', { workspaceId: 'fresh' })).status).toBe(201);
  const roles = { organizationRole: 'owner' };
  for (const [method, path, body] of [
    ['POST', 'api-credentials', { name: 'more', roles }],
    ['POST', `api-credentials/${owner.clientId}/rotate`, {}],
    ['PATCH', `api-credentials/${owner.clientId}`, { roles }],
    ['POST', 'members', { email: 'eve@acme.example', roles }],
  ] as const)
    expect(await call(method, path, body)).toMatchObject({
      status: 403,
      text: expect.stringContaining('changes nobody else'),
    });
});
