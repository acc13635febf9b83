import { ACCESS_TOKEN_SECONDS, type AccessTokens } from './access-tokens.ts';
import type { Audit } from './audit.ts';
import type { ClientRequest, Clients } from './clients.ts';
import { standingOf } from './credential-rules.ts';
import type { Permission } from './permissions.ts';
import type { TenantDirectory } from './tenant-directory.ts';
import { grantedBy, ofToken, permissionsIn, scopeOf } from './tenant-roles.ts';

interface GrantRequest extends ClientRequest {
  /** Undefined when it was not named. */
  readonly audience: string | undefined;
  /** What is asked for, as `user:<action>:<resource>`; everything the client has when left out. */
  readonly scope: string | undefined;
}

/** What a program is given for its secret (RFC 6749, section 4.4). */
type Grant =
  | {
      readonly kind: 'granted';
      readonly accessToken: string;
      readonly scope: string;
      readonly expiresIn: number;
    }
  | {
      readonly kind: 'refused';
      readonly reason: 'client' | 'audience-missing' | 'audience-unknown' | 'scope';
    };

/** Throws as `Clients.authenticate` does. */
export type GrantToken = (request: GrantRequest) => Promise<Grant>;

interface Dependencies {
  readonly clients: Clients;
  readonly directory: Pick<TenantDirectory, 'organization'>;
  readonly tokens: Pick<AccessTokens, 'issue'>;
  readonly audience: readonly string[];
  /** Of an organization. */
  readonly auditOf: (organization: string) => Pick<Audit, 'record' | 'refused'>;
}

export function createClientGrant(dependencies: Dependencies): GrantToken {
  const { clients, directory, tokens, audience: audiences, auditOf } = dependencies;

  return async request => {
    const client = await clients.authenticate(request);
    const organization = client && (await directory.organization(client.row.organization));
    if (client === undefined || organization === undefined) return refused('client');
    const { row, roles } = client;
    const { audience, address, requestId } = request;
    const audit = auditOf(organization.id);
    const entry = { actor: row.name, action: 'tokens.issue', target: row.client_id, address, requestId };
    if (audience === undefined) return refused('audience-missing');
    if (!audiences.includes(audience)) {
      audit.refused({ ...entry, reason: 'audience' });
      return refused('audience-unknown');
    }
    const standing = ofToken(organization, standingOf(row.organization_role, roles));
    const held = grantedBy(standing);
    const granted = narrowed(held, request.scope);
    if (granted === undefined) {
      audit.refused({ ...entry, reason: 'scope' });
      return refused('scope');
    }
    const scope = scopeOf(granted);
    const accessToken = await tokens.issue({
      kind: 'credential',
      subject: row.client_id,
      version: row.version,
      audience,
      organization: organization.id,
      role: standing.role,
      scope,
      isNarrow: granted.size < held.size,
      ttlSeconds: ACCESS_TOKEN_SECONDS,
    });
    await audit.record(entry);
    return { kind: 'granted', accessToken, scope, expiresIn: ACCESS_TOKEN_SECONDS };
  };
}

/** Less than is held is fine, more never; undefined for more. */
function narrowed(
  held: ReadonlySet<Permission>,
  scope: string | undefined,
): ReadonlySet<Permission> | undefined {
  const asked = scope === undefined || scope.trim() === '' ? held : permissionsIn(scope);
  return asked !== undefined && [...asked].every(permission => held.has(permission)) ? asked : undefined;
}

const refused = (reason: Extract<Grant, { kind: 'refused' }>['reason']): Grant => ({
  kind: 'refused',
  reason,
});
