import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { readCookie, setSessionCookie } from './cookies.ts';

/** A server behind a proxy that says whether the connection is encrypted. */
async function ask(headers: Readonly<Record<string, string>>) {
  const server = fastify({ trustProxy: true });
  server.get('/', async (request, reply) => {
    setSessionCookie(request, reply, 'new');
    return { found: readCookie(request, 'sid') ?? null };
  });
  const answer = await server.inject({ url: '/', headers });
  return { found: answer.json().found, set: answer.headers['set-cookie'] };
}

const ENCRYPTED = { 'x-forwarded-proto': 'https' };

it('binds a cookie to this host once the connection is encrypted', async () => {
  expect((await ask(ENCRYPTED)).set).toBe('__Host-sid=new; Path=/; HttpOnly; SameSite=Lax; Secure');
  expect((await ask({})).set).toBe('sid=new; Path=/; HttpOnly; SameSite=Strict');
});

it.each([
  ['sid=a', 'a', null],
  ['__Host-sid=b', null, 'b'],
  ['sid=a; __Host-sid=b; other=c', 'a', 'b'],
  ['__Host-sid=b; __Host-sid=planted', null, null],
  ['xsid=a; sid', null, null],
  ['sid=', '', null],
])('reads of "%s" the one of its name', async (cookie, plain, encrypted) => {
  expect((await ask({ cookie })).found).toBe(plain);
  expect((await ask({ cookie, ...ENCRYPTED })).found).toBe(encrypted);
});
