import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import type { LoginService } from '../../src/app/deployments/login-service.ts';
import { OWNER, openTenants, type Tenants } from '../helpers/tenants.ts';
import { poster, tokenRequest } from '../helpers/token-calls.ts';
import { until } from '../helpers/until.ts';

const entry = z.object({
  id: z.string(),
  time: z.iso.datetime(),
  actor: z.string(),
  action: z.string(),
  target: z.string(),
  result: z.string(),
  reason: z.string(),
  count: z.int(),
});
const page = z.object({ items: z.array(entry), count: z.int() });

interface Program {
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly token: string;
}

let tenants: Tenants;
let service: LoginService;
let owner: Program;
let admin: Program;
let user: Program;
/** An owner of the other organization. */
let stranger: Program;

beforeAll(async () => {
  tenants = await openTenants();
  service = await tenants.serve();
  const workspaces = [{ workspace: 'main', role: 'admin' as const }];
  owner = await signedIn(await tenants.credential({ organizationRole: 'owner' }));
  admin = await signedIn(await tenants.credential());
  user = await signedIn(await tenants.credential({ organizationRole: 'user', workspaces }));
  const fields = { name: 'theirs', organizationRole: 'owner' } as const;
  const theirs = await tenants.credentials.create({ ...OWNER, organization: 'beta' }, fields);
  stranger = await signedIn({ ...theirs.credential, clientSecret: theirs.secret.reveal() });
});
afterAll(async () => {
  await service.stop();
  await tenants.close();
});

async function signedIn(program: Omit<Program, 'token'>): Promise<Program> {
  const { text } = await poster(service.url)(tokenRequest(program));
  const { access_token: token } = z.object({ access_token: z.string() }).parse(JSON.parse(text));
  return { ...program, token };
}

interface Asked {
  readonly method?: string;
  readonly body?: object;
}

async function plane({ token }: Program, path: string, { method = 'GET', body }: Asked = {}) {
  const response = await fetch(`${service.url}/v1/organizations/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, body: text === '' ? undefined : JSON.parse(text) };
}

async function entries(query = '', by = owner) {
  const answer = await plane(by, `acme/audit${query}`);
  expect(answer.status, answer.text).toBe(200);
  return page.parse(answer.body).items;
}

it('tells owners and admins what an owner has done, newest first, and what came of it', async () => {
  const roles = { organizationRole: 'admin' };
  const made = await plane(owner, 'acme/api-credentials', { method: 'POST', body: { name: 'ci', roles } });
  expect(made.status, made.text).toBe(201);
  const { clientId, clientSecret } = made.body;
  await plane(owner, `acme/api-credentials/${clientId}`, { method: 'PATCH', body: { enabled: false } });
  await plane(owner, 'acme/workspaces', { method: 'POST', body: { workspaceId: 'fresh' } });
  const email = 'bob@acme.example';
  const member = await plane(owner, 'acme/members', { method: 'POST', body: { email, roles } });
  const path = `acme/members/${member.body.userId}/password`;
  const reset = await plane(owner, path, { method: 'POST' });
  expect(reset.body.initialPassword).not.toBe(member.body.initialPassword);
  const expected = [
    { action: 'members.resetPassword', target: member.body.userId },
    { action: 'members.create', target: member.body.userId, reason: 'email, roles' },
    { action: 'workspaces.create', target: 'fresh', reason: 'workspaceId' },
    { action: 'credentials.update', target: clientId, reason: 'enabled' },
    { action: 'credentials.create', target: clientId, reason: 'name, roles' },
  ].map(one => ({ ...one, actor: owner.name, result: 'ok', count: 1 }));
  expect(await entries('?limit=5')).toMatchObject(expected);
  expect(await entries('?limit=5', admin)).toMatchObject(expected);
  expect(await entries(`?action=tokens.issue&target=${admin.clientId}`)).toMatchObject([
    { actor: admin.name, result: 'ok' },
  ]);
  const { text } = await plane(owner, 'acme/audit');
  for (const secret of [
    clientSecret,
    member.body.initialPassword,
    reset.body.initialPassword,
    owner.clientSecret,
    owner.token,
  ])
    expect(text).not.toContain(secret);
});

it('tells what was refused, and why', async () => {
  await poster(service.url)(tokenRequest({ ...user, clientSecret: 'hgs_wrong' }));
  const gone = await plane(admin, `acme/api-credentials/${owner.clientId}`, { method: 'DELETE' });
  expect(gone.status).toBe(403);
  await plane(owner, 'acme/workspaces', { method: 'POST', body: { workspaceId: 'no' } });
  const refused = [
    { actor: owner.name, action: 'workspaces.create', reason: 'invalid-request' },
    { actor: admin.name, action: 'credentials.remove', target: owner.clientId, reason: 'forbidden' },
    { actor: user.clientId, action: 'tokens.issue', reason: 'wrong secret' },
  ];
  await until(async () => (await entries('?result=refused')).length === 3, 'the refusals');
  expect(await entries('?result=refused')).toMatchObject(refused);
});

it('is of no use to a user of the organization, which stands in it', async () => {
  const answer = await plane(user, 'acme/audit');
  expect(answer).toMatchObject({ status: 403, body: { statusCode: 403, message: expect.any(String) } });
  await until(async () => (await entries(`?actor=${user.name}&result=refused`)).length === 1);
  expect(await entries(`?actor=${user.name}&result=refused`)).toMatchObject([
    { action: 'audit.list', reason: 'forbidden' },
  ]);
});

it('is never that of another organization', async () => {
  const answer = await plane(stranger, 'acme/audit');
  expect(answer).toMatchObject({ status: 404, body: { statusCode: 404, message: expect.any(String) } });
  expect(Object.keys(answer.body)).not.toContain('items');
  for (const name of ['nobody', '@acme', '%40acme', 'default', '..%2Facme'])
    expect((await plane(owner, `${name}/audit`)).status, name).toBe(404);
  const theirs = page.parse((await plane(stranger, 'beta/audit')).body).items;
  expect(theirs.map(({ actor }) => actor)).toEqual(['theirs']);
  expect((await entries()).map(({ actor }) => actor)).not.toContain('theirs');
});

it('is read page by page and filtered, and never changed', async () => {
  const all = await entries();
  const { body } = await plane(owner, 'acme/audit?limit=1&offset=1');
  expect(body).toMatchObject({ items: [all[1]], count: 1, offset: 1, limit: 1, totalCount: all.length });
  expect(await entries('?until=2020-01-01T00:00:00Z')).toEqual([]);
  expect(await entries('?since=2020-01-01T00:00:00Z')).toEqual(all);
  const wrong = await plane(owner, 'acme/audit?since=yesterday');
  expect(wrong).toMatchObject({ status: 400, body: { statusCode: 400, message: expect.any(String) } });
  expect((await plane(owner, 'acme/audit', { method: 'DELETE' })).status).toBe(405);
  expect((await plane(stranger, 'acme/audit', { method: 'DELETE' })).status).toBe(404);
});
