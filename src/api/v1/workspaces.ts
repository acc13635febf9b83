import * as z from 'zod';
import { labelOf } from '../../auth/tenant-name.ts';
import type { WorkspaceTable } from '../../storage/tables.ts';
import { isoTime } from '../envelope.ts';
import { operation, operationWithBody } from './organization-operation.ts';

const fieldSchemas = {
  alias: z.string().max(30).optional(),
  description: z.string().max(255).optional(),
  region: z.string().max(64).optional(),
  tags: z.array(z.string().max(30)).max(3).optional(),
};
const tagsSchema = z.array(z.string());

/** `cloudDomain` is what workspaces are served below. */
export function workspaceOperations(cloudDomain: () => string) {
  const wireWorkspace = (row: WorkspaceTable) => ({
    workspaceId: row.id,
    organizationId: row.organization,
    region: row.region,
    leaderFQDN: `${labelOf({ workspace: row.id, organization: row.organization })}.${cloudDomain()}`,
    state: row.state,
    alias: row.alias,
    description: row.description,
    tags: tagsSchema.parse(JSON.parse(row.tags)),
    lastUpdated: isoTime(row.updated_at),
  });

  return [
    operation(
      { id: 'workspaces.list', method: 'GET', path: '/workspaces', status: 200 },
      async ({ manager, organizations }) => {
        const rows = await organizations.workspaces.list(manager.organization);
        return { items: rows.map(wireWorkspace), count: rows.length };
      },
    ),
    operationWithBody(
      {
        id: 'workspaces.create',
        method: 'POST',
        path: '/workspaces',
        status: 201,
        createdKey: 'workspaceId',
      },
      z.strictObject({ workspaceId: z.string().max(64), ...fieldSchemas }),
      async ({ manager, organizations, body: { workspaceId, ...fields } }) =>
        wireWorkspace(await organizations.workspaces.create(manager, workspaceId, fields)),
    ),
    operation(
      { id: 'workspaces.get', method: 'GET', path: '/workspaces/:id', status: 200 },
      async ({ manager, organizations, id }) =>
        wireWorkspace(await organizations.workspaces.get(manager.organization, id)),
    ),
    operationWithBody(
      { id: 'workspaces.update', method: 'PATCH', path: '/workspaces/:id', status: 204 },
      z.strictObject(fieldSchemas),
      async ({ manager, organizations, id, body }) => {
        await organizations.workspaces.update(manager, id, body);
        return undefined;
      },
    ),
    operation(
      { id: 'workspaces.remove', method: 'DELETE', path: '/workspaces/:id', status: 204 },
      async ({ manager, organizations, id }) => {
        await organizations.workspaces.remove(manager, id);
        return undefined;
      },
    ),
  ] as const;
}
