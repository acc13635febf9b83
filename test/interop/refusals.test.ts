import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { startApiServer } from '../api/api-server.ts';
import { ask } from '../helpers/hosted.ts';
import { eachDeployment } from './deployments.ts';

const FITS = [{ name: 'cribl_notification', op: '=', value: 'quiet' }];

/** What a second one of is refused; those of the installation are made where it manages its own people. */
const MADE: readonly { readonly path: string; readonly body: object; readonly only?: 'self-managed' }[] = [
  { path: '/system/inputs', body: { id: 'app', type: 'syslog' } },
  { path: '/system/outputs', body: { id: 'lake', type: 's3' } },
  { path: '/notification-targets', body: { id: 'bell', type: 'bulletin_message' } },
  {
    path: '/notifications',
    body: { id: 'quiet', condition: 'no-data', targets: ['bell'], conf: { name: 'syslog:app' } },
  },
  { path: '/inhibitions', body: { id: 'calm', when: FITS, hold: FITS } },
  {
    path: '/silences',
    body: { id: 'night', matchers: FITS, endsAt: '2999-01-01T00:00:00Z', comment: 'rest' },
  },
  { path: '/system/messages', body: { id: 'note', text: 'read this', severity: 'info' } },
  {
    path: '/system/users',
    body: { username: 'ann', password: 'heliotrope dusk fathom 9' },
    only: 'self-managed',
  },
];

eachDeployment('refusals', ({ call }, kind) => {
  it.each(MADE.filter(({ only = kind }) => only === kind))(
    'says of a second one at $path that it already exists',
    async ({ path, body }) => {
      const first = await call('POST', path, body);
      expect([first.status, first.body]).toMatchObject([200, { count: 1 }]);
      const second = await call('POST', path, body);
      expect([second.status, second.body]).toMatchObject([
        409,
        { status: 'error', code: 'conflict', message: expect.stringContaining('already exists') },
      ]);
    },
  );
});

eachDeployment('requests', ({ call }) => {
  it.each(['application/x-www-form-urlencoded', 'text/xml; charset=utf-8'])(
    'of the type %s are refused with what came and what is read',
    async type => {
      const { status, body } = await call('POST', '/system/inputs', Buffer.from('id=app'), {
        headers: { 'content-type': type },
      });
      expect([status, body.code]).toEqual([415, 'unsupported-media-type']);
      expect(body.message).toBe(`The Content-Type '${type}' is not read here; send application/json`);
    },
  );

  it('that are packed are refused by the name of their encoding', async () => {
    const { status, body } = await call('POST', '/system/inputs', gzipSync('{"id":"zip","type":"http"}'), {
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    });
    expect([status, body.message]).toEqual([
      415,
      "Content-Encoding 'gzip' is not accepted here; send the body as it is",
    ]);
  });

  it('find the same at a path with a slash at its end', async () => {
    for (const path of ['/health', '/system/inputs', '/m/default/notifications'])
      expect((await call('GET', `${path}/`)).body, path).toEqual((await call('GET', path)).body);
    expect((await call('GET', '/health/', undefined, { token: '' })).status).toBe(200);
    expect(await call('POST', '/health/', {})).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
    });
  });
});

it('log in at a path with a slash at its end', async () => {
  const server = await startApiServer({});
  onTestFinished(() => server.stop());
  const body = { username: 'admin', password: ADMIN_PASSWORD };
  const { status } = await ask(`${server.url}/api/v1/auth/login/`, { method: 'POST', body });
  expect(status).toBe(200);
});
