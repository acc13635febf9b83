import { expect, test } from 'vitest';
import { permissionsOf, ROLES, type Role } from '../permissions.ts';
import { decideRole, groupsIn } from './account-linking.ts';

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

test.each([
  [
    ['a', 'b'],
    ['a', 'b'],
  ],
  ['a', ['a']],
  [[], []],
  [['a', 1, null], ['a']],
  [undefined, undefined],
  [null, undefined],
  [{ a: true }, undefined],
])('reads the claim %j as %j', (claim, expected) => {
  expect(groupsIn(claim)).toEqual(expected);
});

test('each role may all that those after it may, so that the highest is the union', () => {
  for (const [index, role] of ROLES.entries())
    for (const lower of ROLES.slice(index))
      expect([...permissionsOf(lower)].filter(one => !permissionsOf(role).has(one))).toEqual([]);
});
