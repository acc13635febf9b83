import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JWKS_ROUTE } from '../../src/api/jwks.ts';
import { METRICS_ROUTE } from '../../src/api/metrics/endpoint.ts';
import { DOCUMENT_ROUTES } from '../../src/api/openapi/endpoint.ts';
import { PAGE_ROUTES } from '../../src/api/page.ts';
import { API_PREFIX, operations } from '../../src/api/v1/index.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ask } from '../helpers/hosted.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';
import { type ApiServer, startApiServer } from './api-server.ts';

const SESSION = [
  { method: 'GET', path: '/session' },
  { method: 'POST', path: '/session/login' },
  { method: 'GET', path: '/session/sso' },
];
const prefixed = operations.map(({ method, path }) => ({
  method,
  path: path.startsWith('/ingest') ? path : API_PREFIX + path,
}));
/** Every route of the server that a table has, and paths that no table has. */
const ROUTES: readonly { readonly method: string; readonly path: string }[] = [
  ...prefixed,
  ...PAGE_ROUTES,
  ...SESSION,
  METRICS_ROUTE,
  ...DOCUMENT_ROUTES,
  JWKS_ROUTE,
  { method: 'GET', path: '/nowhere' },
  { method: 'GET', path: '/api/v1/nowhere' },
  { method: 'DELETE', path: '/ingest/nowhere' },
];

describe('self-managed', () => {
  let server: ApiServer;
  beforeAll(async () => {
    server = await startApiServer({ settings: { api: { allowedHosts: ['headgate.monitoring.svc'] } } });
  });
  afterAll(() => server.stop());

  const statusAt = async (host: string, { method, path }: { method: string; path: string }) =>
    (await ask(server.url + path.replace(/:[a-z]+/gi, 'x'), { method, host })).status;

  it.each(ROUTES)('$method $path is served under no foreign name', async route => {
    expect(await statusAt('evil.example', route)).toBe(421);
    expect(await statusAt('headgate.monitoring.svc:9000', route)).not.toBe(421);
  });

  it('a good token does not help, and the answer names the setting and the host', async () => {
    const token = server.token.replace('Bearer ', '');
    const headers = { 'x-forwarded-host': 'localhost', forwarded: 'host=localhost' };
    const answer = await ask(`${server.url}/api/v1/auth/me`, { host: 'headgate:9000', token, headers });
    expect(answer.status).toBe(421);
    expect(answer.body).toMatchObject({
      code: 'misdirected',
      message: expect.stringMatching(/'headgate' .* api\.allowedHosts$/),
    });
    expect((await ask(`${server.url}/api/v1/auth/me`, { token })).status).toBe(200);
  });
});

describe('hosted', () => {
  let app: HostedApp;
  beforeAll(async () => {
    app = await startHostedApp({ clock: systemClock });
  });
  afterAll(() => app.stop());

  it('neither workspaces nor the login service answer to a foreign name', async () => {
    const paths = [
      '/',
      '/metrics',
      '/api/v1/health',
      '/session',
      '/oauth/token',
      '/.well-known/jwks.json',
      '/v1/organizations/acme/members',
    ];
    for (const url of [app.url, app.authUrl])
      for (const path of paths) {
        expect([url, path, (await ask(url + path, { host: 'evil.example' })).status]).toEqual([
          url,
          path,
          421,
        ]);
        expect((await ask(url + path)).status).not.toBe(421);
      }
  });

  it('the login service names the setting and the host, as an error of OAuth', async () => {
    for (const path of ['/oauth/token', '/oauth/revoke', '/.well-known/jwks.json']) {
      const { body } = await ask(app.authUrl + path, { host: 'evil.example', method: 'POST' });
      expect([path, body]).toEqual([
        path,
        {
          error: 'invalid_request',
          error_description: expect.stringMatching(/'evil\.example'.*api\.allowedHosts/),
        },
      ]);
    }
  });
});
