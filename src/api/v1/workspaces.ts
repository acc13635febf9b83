import * as z from 'zod';
import { labelOf } from '../../auth/tenant-name.ts';
import {
  createWorkspace,
  getWorkspace,
  listWorkspaces,
  removeWorkspace,
  updateWorkspace,
} from '../../resources/workspaces.ts';
import type { WorkspaceTable } from '../../storage/tables.ts';
import { isoTime } from '../envelope.ts';
import { noAnswer, organizationOperation, readBack } from './organization-operation.ts';

const tagsSchema = z.array(z.string());

/** `cloudDomain` is the domain below which workspaces are served. */
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
    organizationOperation({
      id: 'workspaces.list',
      method: 'GET',
      path: '/workspaces',
      status: 200,
      verb: listWorkspaces,
      answer: rows => ({ items: rows.map(wireWorkspace), count: rows.length }),
    }),
    organizationOperation({
      id: 'workspaces.create',
      method: 'POST',
      path: '/workspaces',
      status: 201,
      verb: createWorkspace,
      answer: wireWorkspace,
    }),
    organizationOperation({
      id: 'workspaces.get',
      method: 'GET',
      path: '/workspaces/:id',
      status: 200,
      verb: getWorkspace,
      answer: wireWorkspace,
    }),
    organizationOperation({
      id: 'workspaces.update',
      method: 'PATCH',
      path: '/workspaces/:id',
      status: 204,
      verb: updateWorkspace,
      takesBack: readBack(getWorkspace, wireWorkspace, ['lastUpdated', 'state']),
      answer: noAnswer,
    }),
    organizationOperation({
      id: 'workspaces.remove',
      method: 'DELETE',
      path: '/workspaces/:id',
      // As Cribl's management plane answers, whose clients take nothing else.
      status: 202,
      verb: removeWorkspace,
      answer: noAnswer,
    }),
  ] as const;
}
