import type { Page, PageRequest } from './page.ts';
import type { MemberRoleTable, MemberTable, OrganizationTable, WorkspaceTable } from './tenant-tables.ts';

export type OrganizationRow = OrganizationTable;
export type WorkspaceRow = WorkspaceTable;
export type MemberRow = MemberTable;
/** What somebody may do in a workspace of the organization. */
export type WorkspaceRoleRow = Pick<MemberRoleTable, 'workspace' | 'role'>;
type MemberRoleRow = MemberRoleTable;

/** The customers of the hosted deployment, what they have, and who belongs to them. */
export interface OrganizationStore {
  get(id: string): Promise<OrganizationRow | undefined>;
  /** By id. */
  list(page: PageRequest): Promise<Page<OrganizationRow>>;
  workspace(organization: string, id: string): Promise<WorkspaceRow | undefined>;
  /** Those of the organization, by id. */
  workspaces(organization: string): Promise<readonly WorkspaceRow[]>;
  /** Those of all organizations, by organization and id. */
  allWorkspaces(): Promise<readonly WorkspaceRow[]>;
  member(organization: string, userId: string): Promise<MemberRow | undefined>;
  /** In the order they became members. */
  members(organization: string, page: PageRequest): Promise<Page<MemberRow>>;
  /** What the user belongs to, by organization. */
  membershipsOf(userId: string): Promise<readonly MemberRow[]>;
  /** Of the members, by user and workspace. At most 500 ids a call. */
  memberRoles(organization: string, userIds: readonly string[]): Promise<readonly MemberRoleRow[]>;
}

/** What a transaction does with organizations. Each change is to begin with `numberUserChange`. */
export interface OrganizationTransaction {
  organization(id: string): Promise<OrganizationRow | undefined>;
  /** Refused with `conflict` when the id exists. */
  addOrganization(row: OrganizationRow): Promise<void>;
  /** Replaces the row of that id. */
  updateOrganization(row: OrganizationRow): Promise<void>;
  workspace(organization: string, id: string): Promise<WorkspaceRow | undefined>;
  countWorkspaces(organization: string): Promise<number>;
  /** Refused with `conflict` when the organization has one of that id. */
  addWorkspace(row: WorkspaceRow): Promise<void>;
  /** Replaces the row of that id. */
  updateWorkspace(row: WorkspaceRow): Promise<void>;
  /** With the roles that members and credentials have in it; what it keeps itself stays. */
  removeWorkspace(organization: string, id: string): Promise<void>;
  member(organization: string, userId: string): Promise<MemberRow | undefined>;
  /** What the user belongs to, by organization. */
  membershipsOf(userId: string): Promise<readonly MemberRow[]>;
  countMembers(organization: string): Promise<number>;
  /** Owners of the organization who can sign in. */
  countEnabledOwners(organization: string): Promise<number>;
  /** Refused with `conflict` when the user is a member already. */
  addMember(row: MemberRow): Promise<void>;
  /** Replaces the row of that user. */
  updateMember(row: MemberRow): Promise<void>;
  /** With the roles in workspaces. */
  removeMember(organization: string, userId: string): Promise<void>;
  /** Replaces all roles of the member. */
  setMemberRoles(organization: string, userId: string, roles: readonly WorkspaceRoleRow[]): Promise<void>;
}
