import * as z from 'zod';
import { defineOrganizationVerb } from './organization-verb.ts';

const workspaceFields = {
  alias: z.string().max(30).optional(),
  description: z.string().max(255).optional(),
  region: z.string().max(64).optional(),
  tags: z.array(z.string().max(30)).max(3).optional(),
};

const workspaceId = { id: z.string() };

export const listWorkspaces = defineOrganizationVerb({
  permission: 'read:workspaces',
  input: z.object({}),
  run: ({ actor, context }) => context.workspaces.list(actor.organization),
});

export const getWorkspace = defineOrganizationVerb({
  permission: 'read:workspaces',
  input: z.object(workspaceId),
  run: ({ actor, context }, { id }) => context.workspaces.get(actor.organization, id),
});

export const createWorkspace = defineOrganizationVerb({
  permission: 'update:workspaces',
  input: z.object({ body: z.strictObject({ workspaceId: z.string().max(64), ...workspaceFields }) }),
  run: ({ actor, context }, { body: { workspaceId: id, ...fields } }) =>
    context.workspaces.create(actor, id, fields),
});

export const updateWorkspace = defineOrganizationVerb({
  permission: 'update:workspaces',
  input: z.object({ ...workspaceId, body: z.strictObject(workspaceFields) }),
  run: ({ actor, context }, { id, body }) => context.workspaces.update(actor, id, body),
});

export const removeWorkspace = defineOrganizationVerb({
  permission: 'update:workspaces',
  input: z.object(workspaceId),
  run: ({ actor, context }, { id }) => context.workspaces.remove(actor, id),
});
