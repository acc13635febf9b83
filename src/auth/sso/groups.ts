/** What a claim of groups says. */
export type GroupClaim =
  | { readonly kind: 'groups'; readonly names: readonly string[] }
  /** Not sent, which is not the same as none. `isElsewhere`: the provider keeps the list at another address. */
  | { readonly kind: 'absent'; readonly isElsewhere: boolean }
  /** Sent in a form that is no list of groups, which is not the same as none either. `found` names types and sizes. */
  | { readonly kind: 'unreadable'; readonly found: string };

type Claims = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Claims =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The claim of that name. A member of exactly this name wins, such as `https://example.com/groups`; else a dot leads
 * into an object, as in `realm_access.roles`, where names with dots are found as well. Undefined when there is none.
 */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
    const key = name.slice(0, dot);
    const inner = Object.hasOwn(claims, key) ? claims[key] : undefined;
    const found = isObject(inner) ? claimAt(inner, name.slice(dot + 1)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Claims of the first, and those of the second that it lacks, also within objects. */
export function withClaimsOf(first: Claims, second: Claims): Claims {
  const merged: Record<string, unknown> = { ...second, ...first };
  for (const [key, value] of Object.entries(first)) {
    const other = Object.hasOwn(second, key) ? second[key] : undefined;
    if (isObject(value) && isObject(other)) merged[key] = withClaimsOf(value, other);
  }
  return merged;
}

/** Members of an object that name its group, as providers call them. */
const NAMES = ['name', 'display', 'displayName', 'value', 'id'] as const;

/**
 * Reads a name, a list of names, a list of objects that name groups (Oracle: `[{"name": …}]`), and an object whose
 * members are objects and called like the groups (ZITADEL). All names of an object count.
 */
export function readGroups(claims: Claims, name: string): GroupClaim {
  const claim = claimAt(claims, name);
  if (claim === undefined || claim === null)
    return { kind: 'absent', isElsewhere: claimAt(claims, `_claim_names.${name}`) !== undefined };
  const names = namesIn(claim);
  return names === undefined ? { kind: 'unreadable', found: claimShape(claim) } : { kind: 'groups', names };
}

function namesIn(claim: unknown): readonly string[] | undefined {
  if (typeof claim === 'string') return claim === '' ? [] : [claim];
  if (Array.isArray(claim)) {
    const names = claim.map(namesOfOne);
    return names.every(one => one !== undefined) ? names.flat() : undefined;
  }
  if (!isObject(claim)) return undefined;
  const isKeyed = Object.values(claim).every(isObject);
  return isKeyed ? Object.keys(claim) : namesOfOne(claim);
}

function namesOfOne(group: unknown): readonly string[] | undefined {
  if (typeof group === 'string') return [group];
  if (!isObject(group)) return undefined;
  const names = NAMES.flatMap(key => {
    const value = Object.hasOwn(group, key) ? group[key] : undefined;
    return typeof value === 'string' && value !== '' ? [value] : [];
  });
  return names.length === 0 ? undefined : names;
}

/** Types and sizes, never the contents: the claim may be anything. */
export function claimShape(value: unknown): string {
  if (value === undefined) return 'absent';
  if (Array.isArray(value)) {
    const types = [...new Set(value.map(one => (Array.isArray(one) ? 'list' : typeOf(one))))];
    return `a list of ${value.length} (${types.join(', ')})`;
  }
  return isObject(value) ? `an object of ${Object.keys(value).length} members` : `a ${typeOf(value)}`;
}

const typeOf = (value: unknown): string => (value === null ? 'null' : typeof value);

/** Claims of every token that never hold groups (RFC 7519 section 4.1; OpenID Connect Core 1.0 section 2). */
const OTHER_CLAIMS: readonly string[] = [
  ...['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'nonce', 'auth_time', 'azp', 'acr', 'at_hash'],
  ...['c_hash', 'email', 'email_verified', 'name', 'preferred_username', 'updated_at', '_claim_names'],
];

/** Why no claim can have this name, or the way to it is written in another language; undefined when it may work. */
export function groupFieldProblem(name: string): string | undefined {
  if (name !== name.trim()) return 'begins or ends with a blank';
  if (OTHER_CLAIMS.includes(name)) return 'is a claim that holds no groups';
  if (name.includes('://')) return undefined;
  if (/^[.$/]|\.$|\.\./.test(name) || /[[\]*]/.test(name))
    return 'is no path of a claim: write names with dots between them, as in realm_access.roles';
  return undefined;
}
