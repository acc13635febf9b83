import * as z from 'zod';
import {
  type Administrator,
  type CredentialDetails,
  type CredentialFields,
  credentialFields,
} from '../../auth/organizations/credential.ts';
import type { CreatedCredential } from '../../auth/organizations/credentials.ts';
import type { OrganizationActor } from '../../auth/organizations/organization-actor.ts';
import { duration } from '../../lib/schemas.ts';
import { pageQuery, pageRequest } from '../../resources/paging.ts';
import { isoTime, isoTimeOrNull } from '../envelope.ts';
import { rolesOf, rolesSchema, wireRoles } from './members.ts';
import { operation, operationWithBody } from './organization-operation.ts';

const pageSchema = z.object(pageQuery);

const { name, description, enabled, ipAllowlist } = credentialFields.shape;
const partSchema = {
  name,
  description,
  enabled,
  roles: rolesSchema.optional(),
  ipAllowlist,
  expiresDate: z.iso.datetime().nullable().optional(),
};
const wholeSchema = { ...partSchema, name: name.unwrap(), roles: rolesSchema };

const administratorOf = ({ kind, id, name: known, role }: OrganizationActor): Administrator => ({
  name: known,
  role,
  ...(kind === 'credential' && { clientId: id }),
});

/** What a body says, in our words. */
function fieldsOf({
  roles,
  expiresDate,
  ...fields
}: Omit<z.output<z.ZodObject<typeof partSchema>>, 'roles'> & {
  readonly roles?: z.output<typeof rolesSchema> | undefined;
}): CredentialFields {
  return {
    ...fields,
    ...(roles !== undefined && rolesOf(roles)),
    ...(expiresDate !== undefined && { expiresAt: expiresDate === null ? null : Date.parse(expiresDate) }),
  };
}

const wireCredential = (facts: CredentialDetails) => ({
  organizationId: facts.organization,
  clientId: facts.clientId,
  name: facts.name,
  description: facts.description,
  enabled: facts.enabled,
  roles: wireRoles(facts),
  ipAllowlist: facts.ipAllowlist,
  expiresDate: isoTimeOrNull(facts.expiresAt),
  lastUsedDate: isoTimeOrNull(facts.lastUsedAt),
  secrets: facts.secrets.map(({ id, createdAt, notAfter, lastUsedAt }) => ({
    id,
    createdDate: isoTime(createdAt),
    notAfter: isoTimeOrNull(notAfter),
    lastUsedDate: isoTimeOrNull(lastUsedAt),
  })),
  createdBy: facts.createdBy,
  createdDate: isoTime(facts.createdAt),
  lastUpdatedBy: facts.updatedBy,
  lastUpdatedDate: isoTime(facts.updatedAt),
});

/** The one time that a secret is shown. */
const wireCreated = ({ credential, secret }: CreatedCredential) => ({
  ...wireCredential(credential),
  clientSecret: secret.reveal(),
});

export const credentialOperations = [
  operation(
    { id: 'credentials.list', method: 'GET', path: '/api-credentials', status: 200 },
    async ({ manager, organizations, query }) => {
      const request = pageRequest(pageSchema.parse(query));
      const { rows } = await organizations.credentials.list(
        administratorOf(manager),
        manager.organization,
        request,
      );
      return { items: rows.map(wireCredential), count: rows.length };
    },
  ),
  operationWithBody(
    {
      id: 'credentials.create',
      method: 'POST',
      path: '/api-credentials',
      status: 201,
      createdKey: 'clientId',
    },
    z.strictObject(wholeSchema),
    async ({ manager, organizations, body }) => {
      const fields = { ...fieldsOf(body), ...rolesOf(body.roles), name: body.name };
      return wireCreated(
        await organizations.credentials.create(administratorOf(manager), manager.organization, fields),
      );
    },
  ),
  operation(
    { id: 'credentials.get', method: 'GET', path: '/api-credentials/:id', status: 200 },
    async ({ manager, organizations, id }) =>
      wireCredential(await organizations.credentials.get(administratorOf(manager), manager.organization, id)),
  ),
  operationWithBody(
    { id: 'credentials.update', method: 'PATCH', path: '/api-credentials/:id', status: 204 },
    z.strictObject(partSchema),
    async ({ manager, organizations, id, body }) => {
      await organizations.credentials.update(
        administratorOf(manager),
        manager.organization,
        id,
        fieldsOf(body),
      );
      return undefined;
    },
  ),
  operation(
    { id: 'credentials.remove', method: 'DELETE', path: '/api-credentials/:id', status: 204 },
    async ({ manager, organizations, id }) => {
      await organizations.credentials.remove(administratorOf(manager), manager.organization, id);
      return undefined;
    },
  ),
  operationWithBody(
    { id: 'credentials.rotate', method: 'POST', path: '/api-credentials/:id/rotate', status: 200 },
    z.strictObject({ grace: duration({ min: '0s', max: '7d' }).optional() }).prefault({}),
    async ({ manager, organizations, id, body }) =>
      wireCreated(
        await organizations.credentials.rotate(
          administratorOf(manager),
          manager.organization,
          id,
          body.grace?.ms,
        ),
      ),
  ),
  operation(
    {
      id: 'credentials.revokeSecret',
      method: 'DELETE',
      path: '/api-credentials/:id/secrets/:secret',
      status: 204,
    },
    async ({ manager, organizations, id, secret }) => {
      await organizations.credentials.revokeSecret(
        administratorOf(manager),
        manager.organization,
        id,
        secret,
      );
      return undefined;
    },
  ),
] as const;
