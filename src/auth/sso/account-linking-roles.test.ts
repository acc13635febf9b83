import { expect, test } from 'vitest';
import { permissionsOf, ROLES, type Role } from '../permissions.ts';
import { decideRole } from './account-linking.ts';
import { claimAt, groupFieldProblem, readGroups, withClaimsOf } from './groups.ts';

const groups = {
  default: 'user',
  mapping: { admins: ['admin'], writers: ['reader', 'editor'], readers: ['reader'] },
} satisfies { default: Role; mapping: Record<string, Role[]> };

const NONE: readonly string[] = [];

test.each([
  ['a group', ['readers'], 'reader'],
  ['several groups', ['readers', 'writers'], 'editor'],
  ['a group nobody knows beside one that counts', ['staff', 'admins'], 'admin'],
  ['a group nobody knows', ['staff'], 'user'],
  ['a group in another case', ['Admins'], 'user'],
  ['a group called like a part of every object', ['constructor', '__proto__'], 'user'],
  ['no group', NONE, 'user'],
] as const)('%s gives its role, whatever it was before', (_what, claim, role) => {
  for (const present of [undefined, ...ROLES])
    expect(decideRole(claim, present, { groups, mode: 'sync', strict: false })).toEqual({
      kind: 'role',
      role,
    });
});

test('a claim that is absent takes nothing away', () => {
  const settings = { groups, mode: 'sync', strict: false } as const;
  expect(decideRole(undefined, 'admin', settings)).toEqual({ kind: 'kept', role: 'admin' });
  expect(decideRole(undefined, undefined, settings)).toEqual({ kind: 'kept', role: 'user' });
});

test('seed counts at the first sign-in only', () => {
  const settings = { groups, mode: 'seed', strict: false } as const;
  expect(decideRole(['admins'], undefined, settings)).toEqual({ kind: 'role', role: 'admin' });
  expect(decideRole(['admins'], 'reader', settings)).toEqual({ kind: 'role', role: 'reader' });
});

test.each([
  ['no group that counts', ['staff']],
  ['no group', NONE],
  ['nothing said of groups', undefined],
] as const)('strict refuses a user with %s, also one who signed in before', (_what, claim) => {
  for (const mode of ['sync', 'seed'] as const)
    for (const present of [undefined, 'admin'] as const)
      expect(decideRole(claim, present, { groups, mode, strict: true })).toEqual({ kind: 'refused' });
  expect(decideRole(['readers'], undefined, { groups, mode: 'sync', strict: true })).toMatchObject({
    role: 'reader',
  });
});

const read = (claims: object, name = 'groups') => readGroups({ ...claims }, name);

test.each([
  [
    ['a', 'b'],
    ['a', 'b'],
  ],
  ['a', ['a']],
  ['', []],
  [[], []],
  [{}, []],
  [[{ name: 'a', id: '7' }], ['a', '7']],
  [
    [{ display: 'a', value: '7', $ref: 'https://x' }, 'b'],
    ['a', '7', 'b'],
  ],
  [{ name: 'a' }, ['a']],
  [{ a: { org: 'x' }, b: { org: 'x' } }, ['a', 'b']],
])('reads the claim %j as %j', (groups, names) => {
  expect(read({ groups })).toEqual({ kind: 'groups', names });
});

test.each([
  [['a', 1, null], 'a list of 3 (string, number, null)'],
  [[['a']], 'a list of 1 (list)'],
  [[{ title: 'secret' }], 'a list of 1 (object)'],
  [{ a: true }, 'an object of 1 members'],
  [7, 'a number'],
  [true, 'a boolean'],
])('the claim %j is unreadable, which is not empty', (groups, found) => {
  expect(read({ groups })).toEqual({ kind: 'unreadable', found });
});

test('a claim that was not sent is absent, also when the provider says where it is', () => {
  expect(read({})).toEqual({ kind: 'absent', isElsewhere: false });
  expect(read({ groups: null })).toEqual({ kind: 'absent', isElsewhere: false });
  expect(read({ _claim_names: { groups: 'src1' } })).toEqual({ kind: 'absent', isElsewhere: true });
  expect(read({}, 'constructor.name')).toEqual({ kind: 'absent', isElsewhere: false });
});

test.each([
  [{ realm_access: { roles: ['a'] } }, 'realm_access.roles'],
  [{ 'https://example.com/groups': ['a'] }, 'https://example.com/groups'],
  [{ 'realm_access.roles': ['a'], realm_access: { roles: ['b'] } }, 'realm_access.roles'],
  [{ resource_access: { 'my.client': { roles: ['a'] } } }, 'resource_access.my.client.roles'],
  [{ 'https://example.com/app': { roles: ['a'] } }, 'https://example.com/app.roles'],
])('of %j the claim %j is found', (claims, name) => {
  expect(claimAt({ ...claims }, name)).toEqual(['a']);
});

test('what the token lacks comes from the userinfo, also within an object', () => {
  const merged = withClaimsOf(
    { sub: 's', realm_access: { x: 1 } },
    { sub: 't', realm_access: { roles: ['a'] } },
  );
  expect(merged).toEqual({ sub: 's', realm_access: { x: 1, roles: ['a'] } });
});

test.each([' groups', 'groups.', 'a..b', '$.groups', 'groups[0]', 'roles[*].name', '/groups', 'sub', 'exp'])(
  'a claim cannot be called %j',
  name => {
    expect(groupFieldProblem(name)).toBeDefined();
  },
);

test.each([
  'groups',
  'realm_access.roles',
  'https://example.com/groups',
  'cognito:groups',
  'urn:zitadel:iam:roles',
])('a claim may be called %j', name => expect(groupFieldProblem(name)).toBeUndefined());

test('each role may all that those after it may, so that the highest is the union', () => {
  for (const [index, role] of ROLES.entries())
    for (const lower of ROLES.slice(index))
      expect([...permissionsOf(lower)].filter(one => !permissionsOf(role).has(one))).toEqual([]);
});
