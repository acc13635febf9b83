import * as z from 'zod';
import { type CredentialFields, credentialFields } from '../auth/organizations/credential.ts';
import type { CreatedCredential } from '../auth/organizations/credentials.ts';
import { duration } from '../lib/schemas.ts';
import { memberRoles } from './members.ts';
import { defineOrganizationVerb } from './organization-verb.ts';
import { pageQuery, pageRequest, toListPage } from './paging.ts';

const { name, description, enabled, ipAllowlist } = credentialFields.shape;
const changedFields = {
  name,
  description,
  enabled,
  roles: memberRoles.optional(),
  ipAllowlist,
  expiresDate: z.iso.datetime().nullable().optional(),
};
const newFields = { ...changedFields, name: name.unwrap(), roles: memberRoles };

const toFields = ({
  roles,
  expiresDate,
  ...fields
}: z.output<z.ZodObject<typeof changedFields>>): CredentialFields => ({
  ...fields,
  ...roles,
  ...(expiresDate !== undefined && { expiresAt: expiresDate === null ? null : Date.parse(expiresDate) }),
});

/** The secret is shown this once. */
const withSecret = ({ credential, secret }: CreatedCredential) => ({ ...credential, secret });

const clientId = { id: z.string() };

export const listCredentials = defineOrganizationVerb({
  permission: 'read:credentials',
  input: z.object(pageQuery),
  run: async ({ actor, context }, query) =>
    toListPage(query, await context.credentials.list(actor, pageRequest(query)), credential => credential),
});

export const getCredential = defineOrganizationVerb({
  permission: 'read:credentials',
  input: z.object(clientId),
  run: ({ actor, context }, { id }) => context.credentials.get(actor, id),
});

export const createCredential = defineOrganizationVerb({
  permission: 'update:credentials',
  input: z.object({ body: z.strictObject(newFields) }),
  run: async ({ actor, context }, { body }) =>
    withSecret(
      await context.credentials.create(actor, { ...toFields(body), ...body.roles, name: body.name }),
    ),
});

export const updateCredential = defineOrganizationVerb({
  permission: 'update:credentials',
  input: z.object({ ...clientId, body: z.strictObject(changedFields) }),
  run: ({ actor, context }, { id, body }) => context.credentials.update(actor, id, toFields(body)),
});

export const removeCredential = defineOrganizationVerb({
  permission: 'update:credentials',
  input: z.object(clientId),
  run: ({ actor, context }, { id }) => context.credentials.remove(actor, id),
});

export const rotateCredential = defineOrganizationVerb({
  permission: 'update:credentials',
  input: z.object({
    ...clientId,
    body: z.strictObject({ grace: duration({ min: '0s', max: '7d' }).optional() }).prefault({}),
  }),
  run: async ({ actor, context }, { id, body }) =>
    withSecret(await context.credentials.rotate(actor, id, body.grace?.ms)),
});

export const revokeCredentialSecret = defineOrganizationVerb({
  permission: 'update:credentials',
  input: z.object({ ...clientId, secret: z.string() }),
  run: ({ actor, context }, { id, secret }) => context.credentials.revokeSecret(actor, id, secret),
});
