import { afterEach, beforeEach, expect, it } from 'vitest';
import { type TestClock, testClock } from '../helpers/clock.ts';
import { startHostedApp } from '../helpers/hosted-app.ts';
import { until } from '../helpers/until.ts';

const DAY = 86_400_000;
const POST = { method: 'POST' };

let clock: TestClock;
let hosted: Awaited<ReturnType<typeof startHostedApp>>;

/** Workspaces that are told of credentials that expire. */
const WATCHING = ['main-acme', 'test-acme', 'main-corp'];

beforeEach(async () => {
  clock = testClock(Date.now());
  hosted = await startHostedApp({ clock });
  const body = { workspaceId: 'test' };
  expect((await hosted.plane('acme', '/workspaces', { ...POST, body })).status).toBe(201);
  await inTime(async () => (await hosted.api('test-acme', '/incidents')).status === 200);
  for (const label of WATCHING) {
    const target = { id: 'bell', type: 'bulletin_message' };
    expect((await hosted.api(label, '/notification-targets', { ...POST, body: target })).status).toBe(200);
    const ends = { id: 'ends', condition: 'credential-expiration', targets: ['bell'], conf: {} };
    expect((await hosted.api(label, '/notifications', { ...POST, body: ends })).status).toBe(200);
  }
});
afterEach(() => hosted.stop());

/** While time goes on. */
const inTime = (check: () => Promise<boolean>) =>
  until(async () => {
    await clock.advance(5000);
    return check();
  });

const after = (ms: number): string => new Date(clock.now() + ms).toISOString();

async function make(name: string, roles: object, expiresDate: string): Promise<string> {
  const body = { name, roles, expiresDate };
  const made = await hosted.plane('acme', '/api-credentials', { ...POST, body });
  expect([made.status, made.body]).toEqual([201, expect.anything()]);
  return made.body.clientId;
}

async function change(clientId: string, body: object): Promise<void> {
  const { status } = await hosted.plane('acme', `/api-credentials/${clientId}`, { method: 'PATCH', body });
  expect(status).toBe(204);
}

/** What the incidents of a workspace say now. */
async function said(label: string): Promise<string[]> {
  const { body } = await hosted.api(label, '/incidents');
  const items: { state: string; subject: string; closeReason?: string }[] = body.items;
  return items
    .map(({ state, subject, closeReason }) => [subject, state, closeReason ?? ''].join(' ').trim())
    .sort();
}

const isSaid = (label: string, ...expected: string[]) =>
  inTime(async () => JSON.stringify(await said(label)) === JSON.stringify(expected));

const inWorkspace = (workspaceId: string) => ({
  organizationRole: 'user',
  workspaces: [{ workspaceId, workspaceRole: 'user', products: [{ product: 'stream', role: 'reader' }] }],
});

it('tells the workspaces that a credential may come in to, and no other, that it expires soon', async () => {
  await make('ci', inWorkspace('main'), after(6 * DAY));
  await make('later', inWorkspace('main'), after(60 * DAY));
  await make('robots', { organizationRole: 'admin' }, after(5 * DAY));
  await isSaid('main-acme', 'api-credential/ci open', 'api-credential/robots open');
  await isSaid('test-acme', 'api-credential/robots open');
  const { body } = await hosted.api('main-acme', '/system/messages');
  expect(JSON.stringify(body)).toMatch(/Credential api-credential\/ci expires in 5d 23h/);
  expect(await said('main-corp')).toEqual([]);
});

it('says that it is over once the expiry was put off, or nothing expires any more', async () => {
  const renewed = await make('renewed', inWorkspace('main'), after(DAY));
  const disabled = await make('disabled', inWorkspace('main'), after(DAY));
  const endless = await make('endless', inWorkspace('main'), after(DAY));
  const elsewhere = await make('elsewhere', inWorkspace('main'), after(DAY));
  const open = ['disabled', 'elsewhere', 'endless', 'renewed'].map(name => `api-credential/${name} open`);
  await isSaid('main-acme', ...open);
  await change(renewed, { expiresDate: after(90 * DAY) });
  await change(disabled, { enabled: false });
  await change(endless, { expiresDate: null });
  await change(elsewhere, { roles: inWorkspace('test') });
  const gone = (name: string): string =>
    `api-credential/${name} closed the credential api-credential/${name} is in use no more, or no longer expires`;
  await isSaid(
    'main-acme',
    gone('disabled'),
    gone('elsewhere'),
    gone('endless'),
    'api-credential/renewed closed resolved',
  );
  await isSaid('test-acme', 'api-credential/elsewhere open');
});
