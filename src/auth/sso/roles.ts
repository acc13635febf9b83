import { ROLES, type Role } from '../permissions.ts';
import type { OpenidSettings } from './settings.ts';

type RoleSettings = Pick<OpenidSettings, 'groups' | 'mode' | 'strict'>;

export type RoleDecision =
  | { readonly kind: 'role'; readonly role: Role }
  /** The provider has told nothing of groups, so the role stays what it is. */
  | { readonly kind: 'kept'; readonly role: Role }
  | { readonly kind: 'refused' };

/** The groups of a claim; undefined when it is absent, which is not the same as none. */
export function groupsIn(claim: unknown): readonly string[] | undefined {
  if (typeof claim === 'string') return [claim];
  return Array.isArray(claim) ? claim.filter(one => typeof one === 'string') : undefined;
}

/** Which role somebody has by their groups. `present` is the role so far, undefined at the first sign-in. */
export function decideRole(
  claim: readonly string[] | undefined,
  present: Role | undefined,
  { groups, mode, strict }: RoleSettings,
): RoleDecision {
  const mapped = highest(claim ?? [], groups.mapping);
  if (strict && mapped === undefined) return { kind: 'refused' };
  if (present !== undefined && mode === 'seed') return { kind: 'role', role: present };
  if (claim === undefined) return { kind: 'kept', role: present ?? groups.default };
  return { kind: 'role', role: mapped ?? groups.default };
}

/** Each role may all that those after it may. */
function highest(names: readonly string[], mapping: RoleSettings['groups']['mapping']): Role | undefined {
  const roles = names.flatMap(name => (Object.hasOwn(mapping, name) ? (mapping[name] ?? []) : []));
  return ROLES.find(role => roles.includes(role));
}
