import { afterAll, beforeAll, expect, it } from 'vitest';
import { ORGANIZATIONS_PREFIX, type OrganizationOperation } from '../../src/api/v1/organization-operation.ts';
import { organizationOperations } from '../../src/api/v1/organizations.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ask, type HostedAnswer, type HostedCall } from '../helpers/hosted.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';
import { nounOf, pathOf, placesIn, strangeTo, told, toldBut } from '../helpers/naming.ts';

const MARK = 'okapi';
const OURS = `${MARK}org`;
const THEIRS = 'corp';
const WORKSPACE = `${MARK}main`;
const ANN = `ann@${MARK}.example`;

const operations = organizationOperations(() => 'localhost');
const reads = ({ method }: OrganizationOperation): boolean => method === 'GET';

let app: HostedApp;
let ours: string;
let theirs: string;
/** Of a program that may work in one workspace of ours, and manages nothing. */
let worker: string;
/** Ids of ours, by noun of the row and name of the place. */
let places: ReadonlyMap<string, string>;
let telling: readonly string[];

beforeAll(async () => {
  app = await startHostedApp({
    clock: systemClock,
    organizations: [
      { id: OURS, owner: ANN, workspace: WORKSPACE },
      { id: THEIRS, owner: 'bob@corp.example', workspace: 'main' },
    ],
  });
  ours = await app.tokenFor(OURS);
  theirs = await app.tokenFor(THEIRS);
  const workspaces = [{ workspaceId: WORKSPACE, workspaceRole: 'admin' }];
  const body = { name: `${MARK} worker`, roles: { organizationRole: 'user', workspaces } };
  const { body: made } = await plane(OURS, ours)('/api-credentials', { method: 'POST', body });
  worker = await app.tokenFor(made);
  const [ann] = (await plane(OURS, ours)('/members')).body.items;
  places = new Map([
    ['credentials.id', made.clientId],
    ['credentials.secret', made.secrets[0].id],
    ['members.id', ann.userId],
    ['workspaces.id', WORKSPACE],
  ]);
  telling = [MARK, made.clientId, made.clientSecret, made.secrets[0].id, ann.userId];
});
afterAll(() => app.stop());

const plane =
  (organization: string, token?: string) =>
  (path: string, call: HostedCall = {}): Promise<HostedAnswer> =>
    ask(`${app.authUrl}${ORGANIZATIONS_PREFIX}/${organization}${path}`, {
      ...(token !== undefined && { token }),
      ...call,
    });

const knownFor = (row: OrganizationOperation, name: string) => places.get(`${nounOf(row)}.${name}`);
const ourPath = (row: OrganizationOperation): string => pathOf(row, name => knownFor(row, name));
const tellingIn = (text: string): string[] => telling.filter(one => text.includes(one));

/** What rows that need one are sent, by id. */
const BODIES: Readonly<Record<string, object>> = {
  'credentials.create': { name: 'theirs', roles: { organizationRole: 'user' } },
  'credentials.update': { description: 'theirs', enabled: false },
  'credentials.rotate': { grace: '0s' },
  'members.create': { email: 'new@corp.example', roles: { organizationRole: 'user' } },
  'members.update': { roles: { organizationRole: 'admin' } },
  'members.resetPassword': {},
  'workspaces.create': { workspaceId: 'another' },
  'workspaces.update': { description: 'theirs' },
};
const requestOf = ({ id, method }: OrganizationOperation): HostedCall => ({
  method,
  ...(id in BODIES && { body: BODIES[id] }),
  headers: { 'x-request-id': 'asked' },
});

async function ourState(): Promise<Record<string, string>> {
  const state: Record<string, string> = {};
  for (const row of operations.filter(reads)) {
    const answer = await plane(OURS, ours)(ourPath(row), requestOf(row));
    expect([row.id, answer.status, tellingIn(told(answer))]).toEqual([
      row.id,
      200,
      expect.arrayContaining([MARK]),
    ]);
    state[row.id] = told(answer);
  }
  return state;
}

it('asks for something that is there at every place of every path, with a body where there must be one', () => {
  for (const row of operations) {
    for (const name of placesIn(row))
      expect([row.id, name, knownFor(row, name)]).toEqual([row.id, name, expect.any(String)]);
    const takesBody = row.method === 'POST' || row.method === 'PATCH';
    expect([row.id, row.id in BODIES]).toEqual([row.id, takesBody]);
  }
});

it('lists nothing of an organization to another', async () => {
  for (const row of operations.filter(one => reads(one) && placesIn(one).length === 0)) {
    const answer = await plane(THEIRS, theirs)(row.path);
    expect([row.id, answer.status, tellingIn(told(answer))]).toEqual([row.id, 200, []]);
    expect(answer.body.count).toBeGreaterThan(0);
  }
});

it('answers to an id of another organization as to one that never was, and does nothing', async () => {
  const before = await ourState();
  const api = plane(THEIRS, theirs);
  const own = (await api('/api-credentials')).body.items[0].clientId;
  for (const row of operations)
    for (const at of placesIn(row)) {
      const named = knownFor(row, at) ?? '';
      // One thing of ours at a time: a secret of ours in a credential of theirs.
      const pathTo = (id: string) => pathOf(row, name => (name === at ? id : own));
      const asked = await api(pathTo(named), requestOf(row));
      const never = await api(pathTo(strangeTo(named)), requestOf(row));
      expect([row.id, at, asked.status]).toEqual([row.id, at, 404]);
      expect([row.id, at, toldBut(named, asked)]).toEqual([row.id, at, toldBut(strangeTo(named), never)]);
      expect([row.id, at, tellingIn(toldBut(named, asked))]).toEqual([row.id, at, []]);
    }
  expect(await ourState()).toEqual(before);
});

it('gives nobody a role in a workspace of another organization', async () => {
  const rolesIn = (workspaceId: string) => ({
    organizationRole: 'user',
    workspaces: [{ workspaceId, workspaceRole: 'admin' }],
  });
  const api = plane(THEIRS, theirs);
  const [credential] = (await api('/api-credentials')).body.items;
  const [member] = (await api('/members')).body.items;
  for (const [method, path, fields] of [
    ['POST', '/api-credentials', { name: 'theirs' }],
    ['PATCH', `/api-credentials/${credential.clientId}`, {}],
    ['POST', '/members', { email: 'eve@corp.example' }],
    ['PATCH', `/members/${member.userId}`, {}],
  ] as const) {
    const ask = (id: string) =>
      api(path, { method, body: { ...fields, roles: rolesIn(id) }, headers: { 'x-request-id': 'asked' } });
    const asked = await ask(WORKSPACE);
    expect([method, path, asked.status]).toEqual([method, path, 400]);
    const never = strangeTo(WORKSPACE);
    expect(toldBut(WORKSPACE, asked)).toEqual(toldBut(never, await ask(never)));
  }
});

it('knows nobody of another organization, whatever is asked', async () => {
  const before = await ourState();
  const nowhere = strangeTo(OURS);
  for (const row of operations) {
    const asked = await plane(OURS, theirs)(ourPath(row), requestOf(row));
    const never = await plane(nowhere, theirs)(ourPath(row), requestOf(row));
    expect([row.id, asked.status]).toEqual([row.id, 404]);
    expect([row.id, toldBut(OURS, asked)]).toEqual([row.id, toldBut(nowhere, never)]);
  }
  expect(await ourState()).toEqual(before);
});

it('lets nobody manage who may only work in a workspace', async () => {
  for (const row of operations) {
    const [inside, outside] = [plane(OURS, worker), plane(THEIRS, worker)];
    expect([row.id, (await inside(ourPath(row), requestOf(row))).status]).toEqual([row.id, 403]);
    expect([row.id, (await outside(ourPath(row), requestOf(row))).status]).toEqual([row.id, 404]);
  }
});

it('answers nobody without a token that is good', async () => {
  for (const row of operations)
    for (const token of [undefined, `${ours.slice(0, -4)}AAAA`]) {
      const answer = await plane(OURS, token)(ourPath(row), requestOf(row));
      expect([row.id, answer.status, tellingIn(told(answer))]).toEqual([row.id, 401, []]);
    }
});

it('lets nobody in who had an account made for the address of somebody who then becomes a member', async () => {
  const signIn = (body: object) => ask(`${app.authUrl}/session`, { method: 'POST', body });
  const add = (organization: string, token: string, username: string) =>
    plane(organization, token)('/members', {
      method: 'POST',
      body: { email: username, roles: { organizationRole: 'admin' } },
    });
  const username = `victim@${MARK}.example`;
  const password = 'forty-two purple elephants';
  const early = await add(THEIRS, theirs, username);
  const known = { username, password: early.body.initialPassword, newPassword: password };
  const token = (await signIn(known)).body.token.replace('Bearer ', '');
  expect((await plane(THEIRS, token)('/members')).status).toBe(200);

  const late = await add(OURS, ours, username);
  expect(late).toMatchObject({ status: 201, body: { initialPassword: expect.any(String) } });
  expect((await plane(OURS, token)('/members')).status).toBe(404);
  expect((await signIn({ username, password, organization: OURS })).status).toBe(401);
  const own = { username, password: late.body.initialPassword, organization: OURS };
  expect((await signIn(own)).status).toBe(200);
  expect((await plane(THEIRS, token)('/members')).status).toBe(200);
  const removed = await plane(THEIRS, theirs)(`/members/${early.body.userId}`, { method: 'DELETE' });
  expect(removed.status).toBe(204);
  expect((await plane(THEIRS, token)('/members')).status).toBe(401);
  expect((await signIn(own)).status).toBe(200);
});

it('ends tokens of its own programs only', async () => {
  const made = await plane(THEIRS, theirs)('/api-credentials', {
    method: 'POST',
    body: { name: 'ender', roles: { organizationRole: 'user' } },
  });
  const body = { client_id: made.body.clientId, client_secret: made.body.clientSecret, token: ours };
  const answer = await ask(`${app.authUrl}/oauth/revoke`, { method: 'POST', body });
  expect(tellingIn(told(answer))).toEqual([]);
  expect((await plane(OURS, ours)('/workspaces')).status).toBe(200);
});
