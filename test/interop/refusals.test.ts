import { expect, it } from 'vitest';
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
