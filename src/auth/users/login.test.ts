import fc from 'fast-check';
import { expect, test } from 'vitest';
import { notedAudit } from '../../../test/helpers/audit.ts';
import { AppError } from '../../lib/errors.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { UserRow } from '../../storage/stores/users.ts';
import {
  type AccountsFor,
  createLogin,
  createPasswordCheck,
  localAccounts,
  memberAccounts,
} from './login.ts';
import { newUserRow } from './user.ts';

const ANN: UserRow = newUserRow({
  id: 'u-1',
  username: 'ann',
  password: 'hash of right',
  role: 'reader',
  created_at: 0,
  version: 3,
});

/** A login whose parts only note what is asked of them. */
function setup(
  change: {
    lookUp?: () => Promise<UserRow | undefined>;
    verify?: () => Promise<boolean>;
    reserve?: () => Promise<never>;
    accounts?: AccountsFor;
  } = {},
) {
  const names: string[] = [];
  const compared: (string | undefined)[] = [];
  const outcomes: string[] = [];
  const check = createPasswordCheck({
    accountsFor:
      change.accounts ??
      localAccounts({ byName: change.lookUp ?? (async name => (name === 'ann' ? ANN : undefined)) }),
    transaction: () => Promise.reject(new Error('unused')),
    passwords: {
      hash: async () => '',
      async verify(password, hash) {
        compared.push(hash);
        return change.verify?.() ?? hash === `hash of ${password}`;
      },
      isOutdated: () => false,
    },
    limits: {
      reserve:
        change.reserve ??
        (async (_address, name) => {
          names.push(name);
          return {
            failed: async () => void outcomes.push('failed'),
            succeeded: () => void outcomes.push('succeeded'),
            abandoned: () => void outcomes.push('abandoned'),
          };
        }),
    },
    log: { refused: () => {} },
    audit: notedAudit(),
    logger: silentLogger,
  });
  const tokens = {
    issue: async (subject: string, ttl: number, version: number) => `${subject}/${ttl}/${version}`,
  };
  const login = createLogin({ check, tokens, tokenTtl: () => 60 });
  const call = (username: string, password: string, organization?: string) =>
    login({ username, password, organization, address: '192.0.2.1' });
  return { call, compared, outcomes, names };
}

test('a login answers a token for the user, of the lifetime that is set', async () => {
  const { call, outcomes } = setup();
  expect(await call('ann', 'right')).toEqual({ token: 'Bearer u-1/60/3', forcePasswordChange: false });
  expect(outcomes).toEqual(['succeeded']);
});

test('a user of an identity provider has no password here, and is refused at the cost of a wrong one', async () => {
  const { call, compared } = setup({
    lookUp: async () => ({ ...ANN, password: '', issuer: 'https://idp.example', subject: 's' }),
  });
  await expect(call('ann', 'right')).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(compared).toEqual([undefined]);
});

test.each([
  ['ann', 'wrong', ANN.password],
  ['ann', '', ANN.password],
  ['ann', 'x'.repeat(257), ANN.password],
  ['bob', 'right', undefined],
  ['bob', '', undefined],
  ['bob', 'x'.repeat(257), undefined],
  ['', '', undefined],
])(
  'user %j with password %j costs one comparison and counts as a failure',
  async (username, password, hash) => {
    const { call, compared, outcomes } = setup();
    await expect(call(username, password)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(compared).toEqual([hash]);
    expect(outcomes).toEqual(['failed']);
  },
);

test('an unknown user does not get in even if a comparison says so, nor does an empty or an over-long password', async () => {
  const { call } = setup({ verify: async () => true });
  await expect(call('bob', 'right')).rejects.toMatchObject({ code: 'unauthenticated' });
  await expect(call('ann', '')).rejects.toMatchObject({ code: 'unauthenticated' });
  await expect(call('ann', 'x'.repeat(257))).rejects.toMatchObject({ code: 'unauthenticated' });
});

test('a disabled user costs one comparison and is refused like anybody with a wrong password', async () => {
  const { call, compared, outcomes } = setup({ lookUp: async () => ({ ...ANN, disabled: 1 }) });
  await expect(call('ann', 'right')).rejects.toMatchObject({
    code: 'unauthenticated',
    message: 'The user name or the password is wrong',
  });
  expect([compared, outcomes]).toEqual([[ANN.password], ['failed']]);
});

test('a user who has to wait costs no comparison and no read of the store, known or not, and does not count', async () => {
  const limited = new AppError('rate-limited', 'wait', { retryAfterSeconds: 8 });
  const { call, compared, outcomes } = setup({
    reserve: () => Promise.reject(limited),
    lookUp: () => Promise.reject(new Error('the store was asked')),
  });
  for (const name of ['ann', 'bob']) await expect(call(name, 'right')).rejects.toBe(limited);
  expect([compared, outcomes]).toEqual([[], []]);
});

test('a name longer than any may be is refused before it costs anything', async () => {
  const { call, compared, outcomes } = setup();
  await expect(call('x'.repeat(255), 'right')).rejects.toMatchObject({ code: 'invalid-request' });
  expect([compared, outcomes]).toEqual([[], []]);
});

/** Four organizations have an account of one address, each with a password of its own; nobody has one of another. */
const ACCOUNTS = ['acme', 'beta', 'corp', 'dorm'].map(
  (organization): UserRow => ({
    ...ANN,
    id: `u-${organization}`,
    organization,
    password: `hash of ${organization}`,
  }),
);
const inOrganizations = memberAccounts({
  byName: async (name, organization = '') =>
    ACCOUNTS.find(one => one.username === name && one.organization === organization),
  accountsNamed: async (name, most) => ACCOUNTS.filter(({ username }) => username === name).slice(0, most),
});

test('a member is found by the password among a few accounts of the address, or by the organization among all', async () => {
  const { call } = setup({ accounts: inOrganizations });
  expect((await call('ann', 'beta')).token).toContain('u-beta/');
  await expect(call('ann', 'dorm')).rejects.toMatchObject({ code: 'unauthenticated' });
  expect((await call('ann', 'dorm', 'dorm')).token).toContain('u-dorm/');
  await expect(call('ann', 'beta', 'dorm')).rejects.toMatchObject({ code: 'unauthenticated' });
  await expect(call('ann', 'right', '')).rejects.toMatchObject({ code: 'unauthenticated' });
});

test('a login of a member costs the same however many organizations know the address', async () => {
  for (const [organization, count] of [
    [undefined, 3],
    ['acme', 1],
    ['none', 1],
  ] as const)
    for (const name of ['ann', 'bob']) {
      const { call, compared } = setup({ accounts: inOrganizations });
      await call(name, 'acme', organization).catch(() => {});
      expect([name, organization, compared.length]).toEqual([name, organization, count]);
    }
});

test('a right password of one account excuses no wrong guesses of the passwords of others', async () => {
  const { call, outcomes, names } = setup({ accounts: inOrganizations });
  await call('ann', 'acme');
  await call('ann', 'acme', 'acme');
  await call('ann', 'wrong', 'beta').catch(() => {});
  await call('ann', 'wrong').catch(() => {});
  expect(names).toEqual(['ann', 'acme ann', 'beta ann', 'ann']);
  expect(outcomes).toEqual(['abandoned', 'succeeded', 'failed', 'failed']);
});

test('a store or a queue that cannot serve is no failure of the caller', async () => {
  const busy = new AppError('unavailable', 'busy', { retryAfterSeconds: 2 });
  for (const broken of [
    setup({ lookUp: () => Promise.reject(busy) }),
    setup({ verify: () => Promise.reject(busy) }),
  ]) {
    await expect(broken.call('ann', 'right')).rejects.toBe(busy);
    expect(broken.outcomes).toEqual(['abandoned']);
  }
});

test('whatever is sent as name and password, a login refuses it with one of its own errors', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.constant('ann'), fc.string({ unit: 'binary', maxLength: 300 })),
      fc.string({ unit: 'binary', maxLength: 300 }).filter(text => text !== 'right'),
      async (username, password) => {
        const { call } = setup();
        const error = await call(username, password).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(AppError);
        expect(error).toHaveProperty('code', expect.stringMatching(/^(unauthenticated|invalid-request)$/));
      },
    ),
  );
});
