import { afterEach, beforeEach, expect, test } from 'vitest';
import { notedAudit } from '../../../test/helpers/audit.ts';
import { testClock } from '../../../test/helpers/clock.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import { authSchema } from '../settings.ts';
import { type AccountLinking, createUserProvisioning } from './account-linking.ts';

const ISSUER = 'https://idp.example';

let store: TestStorage;
beforeEach(async () => {
  store = await openTestStorage();
});
afterEach(() => store.close());

const audit = notedAudit();
/** How often every process was waited for. */
let propagations: number;
beforeEach(() => {
  propagations = 0;
});

function accounts(): AccountLinking {
  const clock = testClock();
  const feed = {
    async waitForPropagation() {
      propagations += 1;
    },
  };
  return createUserProvisioning({
    storage: store.storage,
    feed,
    clock,
    ids: monotonicIds(clock),
    audit,
    logger: silentLogger,
  });
}

function settings() {
  const groups = { mapping: { admins: ['admin'], readers: ['reader'] } };
  const { openid } = authSchema.parse({ openid: { issuer: ISSUER, client_id: 'a', groups } });
  if (openid === undefined) throw new Error('the settings have no provider');
  return openid;
}

const admit = (subject: string, claims: object, issuer = ISSUER) =>
  accounts().resolveUser(
    { issuer, subject, claims: { ...claims }, address: '192.0.2.1', requestId: 'r' },
    settings(),
  );

test.each([
  ['what they prefer', { preferred_username: 'Ann', email: 'ann@corp.example' }, 'ann'],
  ['their mail, when they prefer nothing', { email: 'Ann@corp.example' }, 'ann@corp.example'],
  ['their subject, when nothing else is sent', {}, 's-1'],
  ['their subject, when the rest is no name', { preferred_username: ' ', email: 7 }, 's-1'],
  ['their subject, when the rest garbles a log', { preferred_username: 'a\u0000b' }, 's-1'],
])('somebody new is called by %s', async (_what, claims, expected) => {
  expect(await admit('s-1', claims)).toMatchObject({ username: expected, issuer: ISSUER, subject: 's-1' });
});

test('a name that is taken stays its owner’s', async () => {
  const ann = { preferred_username: 'ann' };
  const first = await admit('s-1', ann);
  const second = await admit('s-2', { ...ann, email: 'ann' });
  const third = await admit('s-1', ann, 'https://other.example');
  const fourth = await admit('s-2', ann, 'https://other.example');
  expect([first, second, third].map(({ username }) => username)).toEqual(['ann', 's-2', 's-1']);
  expect(fourth.username).toMatch(/^ann-[0-9a-f]{8}$/);
  expect(await admit('s-1', { preferred_username: 'other' })).toEqual(first);
});

test('the last admin stays one, another is lowered', async () => {
  const one = await admit('s-1', { groups: ['admins'] });
  expect(await admit('s-1', { groups: ['readers'] })).toMatchObject({ role: 'admin' });
  await admit('s-2', { groups: ['admins'] });
  expect(await admit('s-1', { groups: ['readers'] })).toMatchObject({ role: 'reader' });
  expect(await store.storage.users.byId(one.id)).toMatchObject({ role: 'reader' });
  expect(await admit('s-2', { groups: [] })).toMatchObject({ role: 'admin' });
});

test('of two first sign-ins at one moment both find the same user', async () => {
  const [one, other] = await Promise.all([admit('s-1', {}), admit('s-1', {})]);
  expect(other).toEqual(one);
  expect(await store.storage.users.count()).toBe(1);
});

test('a user disabled here cannot sign in, whatever the provider says', async () => {
  const user = await admit('s-1', { groups: ['readers'] });
  await store.storage.transaction(tx => tx.updateUser({ ...user, disabled: 1 }));
  await expect(admit('s-1', { groups: ['admins'] })).rejects.toMatchObject({ reason: 'not-allowed' });
});

test('another role is a change of the user, counted once every process knows of it', async () => {
  const first = await admit('s-1', { groups: ['readers'] });
  expect((await admit('s-1', { groups: ['readers'] })).version).toBe(first.version);
  expect(propagations).toBe(0);
  expect((await admit('s-1', { groups: ['admins'] })).version).toBeGreaterThan(first.version);
  expect(propagations).toBe(1);
  expect(audit.entries.slice(-2)).toMatchObject([
    { action: 'users.create', target: first.id, reason: 'role reader' },
    { action: 'users.update', target: first.id, reason: 'role admin' },
  ]);
});

test('groups that cannot be read refuse the sign-in, and take no role away', async () => {
  await admit('s-1', { groups: ['admins'] });
  await admit('s-2', { groups: [{ name: 'admins' }] });
  for (const groups of [[{ title: 'admins' }], 7, { a: 1 }, [['admins']]])
    await expect(admit('s-2', { groups })).rejects.toMatchObject({ reason: 'groups-unreadable' });
  expect(await store.storage.users.byIdentity(ISSUER, 's-2')).toMatchObject({ role: 'admin' });
});
