import { expect, test } from 'vitest';
import { authorise } from './actor.ts';
import { isRole, type Permission, permissionsOf, RESOURCES, ROLES, type Role } from './permissions.ts';

const everything = RESOURCES.flatMap((resource): Permission[] => [`read:${resource}`, `update:${resource}`]);
const actor = (role: Role) => ({ kind: 'user', id: '1', name: 'ann', role }) as const;

test('an admin may do everything and a user nothing', () => {
  expect([...permissionsOf('admin')].sort()).toEqual([...everything].sort());
  expect([...permissionsOf('user')]).toEqual([]);
});

test.each<[Role, Permission, boolean]>([
  ['editor', 'update:inputs', true],
  ['editor', 'update:deliveries', true],
  ['editor', 'read:incidents', true],
  ['editor', 'update:incidents', true],
  ['notification_admin', 'update:incidents', true],
  ['reader', 'update:incidents', false],
  ['editor', 'read:users', false],
  ['editor', 'read:settings', false],
  ['editor', 'read:audit', false],
  ['notification_admin', 'update:targets', true],
  ['notification_admin', 'read:outputs', true],
  ['notification_admin', 'update:inputs', false],
  ['notification_admin', 'read:audit', false],
  ['reader', 'read:deliveries', true],
  ['reader', 'read:settings', false],
  ['reader', 'read:credentials', false],
])('role %s and permission %s: %s', (role, permission, granted) => {
  const call = () => authorise(actor(role), permission);
  if (granted) expect(call).not.toThrow();
  else expect(call).toThrow(expect.objectContaining({ code: 'forbidden' }));
});

test('a reader may update nothing', () => {
  expect([...permissionsOf('reader')].filter(permission => permission.startsWith('update:'))).toEqual([]);
});

test('the refusal names the missing permission', () => {
  expect(() => authorise(actor('reader'), 'update:targets')).toThrow(/'update:targets'/);
});

test('only the known roles are roles', () => {
  expect(ROLES.every(isRole)).toBe(true);
  expect(['root', '', 'Admin', '__proto__', 'constructor'].some(isRole)).toBe(false);
});
