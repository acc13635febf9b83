import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ROLE_RANKS } from '../actor.ts';
import { permissionsOf, ROLES } from '../permissions.ts';
import {
  effectiveAssignments,
  formatScope,
  isReduced,
  parseScope,
  permissionsGrantedBy,
  type RoleAssignments,
  roleInWorkspace,
} from './roles.ts';

const standings: fc.Arbitrary<RoleAssignments> = fc.record({
  role: fc.constantFrom('owner', 'admin', 'user'),
  roles: fc.uniqueArray(
    fc.record({ workspace: fc.constantFrom('main', 'test', 'prod'), role: fc.constantFrom(...ROLES) }),
    { selector: ({ workspace }) => workspace },
  ),
});

it('a scope asks for exactly what it was written of', () => {
  fc.assert(
    fc.property(standings, standing => {
      const granted = permissionsGrantedBy(standing);
      expect(parseScope(formatScope(granted))).toEqual(granted);
    }),
  );
});

it.each([
  'read:inputs',
  'user:read:',
  'user:write:inputs',
  'USER:read:inputs',
  'user:read:inputs,user:read:outputs',
])('a scope that names what nobody has asks for nothing: %s', scope => {
  expect(parseScope(scope)).toBeUndefined();
});

it('what is granted over all workspaces is what is granted in one of them', () => {
  fc.assert(
    fc.property(standings, standing => {
      const inEach = ['main', 'test', 'prod'].flatMap(workspace => {
        const role = roleInWorkspace(standing, workspace);
        return role === undefined ? [] : [...permissionsOf(role)];
      });
      expect(permissionsGrantedBy(standing)).toEqual(new Set(inEach));
    }),
  );
});

it('roles that are not reduced lose no permission anywhere', () => {
  fc.assert(
    fc.property(standings, standings, (after, before) => {
      if (isReduced(after, before)) return;
      expect(ROLE_RANKS[after.role]).toBeGreaterThanOrEqual(ROLE_RANKS[before.role]);
      for (const workspace of ['main', 'test', 'prod']) {
        const [now, then] = [roleInWorkspace(after, workspace), roleInWorkspace(before, workspace)];
        if (then === undefined) continue;
        const left = now === undefined ? new Set() : permissionsOf(now);
        expect([...permissionsOf(then)].every(permission => left.has(permission))).toBe(true);
      }
    }),
  );
});

it('nobody is lower than themself', () => {
  fc.assert(fc.property(standings, standing => void expect(isReduced(standing, standing)).toBe(false)));
});

it('without a role selector every credential is Admin', () => {
  fc.assert(
    fc.property(standings, standing => {
      expect(effectiveAssignments({ role_selector: 0 }, standing)).toEqual({ role: 'admin', roles: [] });
      expect(effectiveAssignments({ role_selector: 1 }, standing)).toBe(standing);
    }),
  );
});
