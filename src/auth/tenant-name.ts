/** A workspace and its organization, named together in the Host of requests and as a key of the store. */
export interface TenantName {
  readonly workspace: string;
  readonly organization: string;
}

/** RFC 1035, section 2.3.4. */
const LONGEST_LABEL = 63;
/** Without a '-', so that the first one ends it. */
const WORKSPACE = /^[a-z0-9]{4,41}$/;
const ORGANIZATION = /^[a-z0-9-]{4,21}$/;

export const isWorkspaceId = (text: string): boolean => WORKSPACE.test(text);

export const isOrganizationId = (text: string): boolean => ORGANIZATION.test(text);

/** The label `<workspace>-<organization>`, which is also the workspace's key in the store. */
export const labelOf = ({ workspace, organization }: TenantName): string => `${workspace}-${organization}`;

/** The key in the store for rows of an organization as a whole, or of the installation: no label equals it. */
export const organizationKey = (organization: string | undefined): string =>
  organization === undefined ? 'default' : `@${organization}`;

/** Undefined for a text that `labelOf` does not make of valid ids. */
export function parseLabel(label: string): TenantName | undefined {
  const dash = label.indexOf('-');
  if (dash < 0 || label.length > LONGEST_LABEL) return undefined;
  const tenant = { workspace: label.slice(0, dash), organization: label.slice(dash + 1) };
  return isWorkspaceId(tenant.workspace) && isOrganizationId(tenant.organization) ? tenant : undefined;
}

/**
 * The tenant that a Host header or `:authority` names below `cloudDomain`; undefined for every other host. Case, port and
 * one trailing dot are ignored.
 */
export function parseTenantHost(host: string, cloudDomain: string): TenantName | undefined {
  const name = normalizedHost(host);
  const domain = `.${normalizedHost(cloudDomain)}`;
  return name.endsWith(domain) ? parseLabel(name.slice(0, -domain.length)) : undefined;
}

const normalizedHost = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d{1,5}$/, '')
    .replace(/\.$/, '');
