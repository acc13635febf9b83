import type { MemberRoles } from '../../auth/organizations/members.ts';
import type { WrittenRoles } from '../../resources/members.ts';
import { PRODUCT } from '../../resources/product.ts';

export const wireRoles = ({ organizationRole, workspaces }: MemberRoles): WrittenRoles => ({
  organizationRole,
  workspaces: workspaces.map(({ workspace: workspaceId, role }) =>
    role === 'admin'
      ? { workspaceId, workspaceRole: 'admin' }
      : { workspaceId, workspaceRole: 'user', products: [{ product: PRODUCT, role }] },
  ),
});
