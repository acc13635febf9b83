import { createCaller, createClient, HeadgateUsageError, logIn } from '@headgate/client';
import { expect, test } from 'vitest';
import { json, scriptedServer, token } from './scripted-server.ts';

const engines = { items: [], count: 0, offset: 0, limit: 200, totalCount: 0 };

test('a member signs in at the login service, and asks the workspace with that token', async () => {
  const given = token('ann', 3600);
  const server = await scriptedServer(({ url }, response) =>
    json(response, 200, url === '/session' ? { token: given, forcePasswordChange: false } : engines),
  );
  const auth = { username: 'ann@acme.example', password: 'long ago', authUrl: `${server.url}/` };
  await createClient({ baseUrl: server.url, auth }).engines.list().all();
  expect(server.seen[0]?.body).toBe('{"username":"ann@acme.example","password":"long ago"}');
  expect(server.seen[1]?.authorization).toBe(given);
});

test('a member is told that the password must be changed, and changes it with the next login', async () => {
  const server = await scriptedServer(({ body }, response) =>
    json(response, 200, { token: token('ann', 60), forcePasswordChange: !body.includes('newPassword') }),
  );
  const auth = { username: 'ann', password: 'first', authUrl: server.url };
  expect((await logIn({ baseUrl: server.url, auth })).mustChangePassword).toBe(true);
  const changed = await logIn({ baseUrl: server.url, auth: { ...auth, newPassword: 'second' } });
  expect(changed.mustChangePassword).toBe(false);
  expect(server.seen[1]?.body).toBe('{"username":"ann","password":"first","newPassword":"second"}');
});

test('a caller asks any address with its token, and answers what came back, if anything did', async () => {
  const server = await scriptedServer(({ method }, response) => {
    if (method === 'DELETE') return response.writeHead(204).end();
    if (method === 'POST') return json(response, 201, { clientId: 'x' });
    json(response, 404, { statusCode: 404, message: 'organization not found', requestId: 'r' });
  });
  const call = createCaller({ baseUrl: `${server.url}/v1/organizations`, auth: { token: 'a.b.c' } });
  const path = '/{org}/api-credentials';
  const made = await call({ method: 'POST', path }, { org: 'a b', body: { name: 'ci' } });
  expect(made).toEqual({ clientId: 'x' });
  const gone = await call({ method: 'DELETE', path: `${path}/{id}` }, { org: 'acme', id: 'x' });
  expect(gone).toBeUndefined();
  const listed = call({ method: 'GET', path, query: ['limit'] }, { org: 'acme', limit: 5 });
  await expect(listed).rejects.toMatchObject({ status: 404, message: 'organization not found' });
  await expect(call({ method: 'GET', path }, { org: '..' })).rejects.toThrow(HeadgateUsageError);
  expect(
    server.seen.map(({ method, url, authorization, body }) => [method, url, authorization, body]),
  ).toEqual([
    ['POST', '/v1/organizations/a%20b/api-credentials', 'Bearer a.b.c', '{"name":"ci"}'],
    ['DELETE', '/v1/organizations/acme/api-credentials/x', 'Bearer a.b.c', ''],
    ['GET', '/v1/organizations/acme/api-credentials?limit=5', 'Bearer a.b.c', ''],
  ]);
});
