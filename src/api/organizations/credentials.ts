import * as z from 'zod';
import type { CredentialFacts } from '../../auth/credential-facts.ts';
import { type Administrator, type CredentialFields, credentialFields } from '../../auth/credential-rules.ts';
import type { CreatedCredential } from '../../auth/credentials.ts';
import type { Manager } from '../../auth/managers.ts';
import { duration } from '../../lib/schemas.ts';
import { pageQuery, pageRequest } from '../../resources/paging.ts';
import { isoTime, isoTimeOrNull } from '../envelope.ts';
import { operation, taking } from './operation.ts';
import { rolesOf, rolesSchema, wireRoles } from './roles.ts';

const page = z.object(pageQuery);

const { name, description, enabled, ipAllowlist } = credentialFields.shape;
const part = {
  name,
  description,
  enabled,
  roles: rolesSchema.optional(),
  ipAllowlist,
  expiresDate: z.iso.datetime().nullable().optional(),
};
const whole = { ...part, name: name.unwrap(), roles: rolesSchema };

const by = ({ kind, id, name: known, role }: Manager): Administrator => ({
  name: known,
  role,
  ...(kind === 'credential' && { clientId: id }),
});

/** What a body says, in our words. */
function fieldsOf({
  roles,
  expiresDate,
  ...said
}: Omit<z.output<z.ZodObject<typeof part>>, 'roles'> & {
  readonly roles?: z.output<typeof rolesSchema> | undefined;
}): CredentialFields {
  return {
    ...said,
    ...(roles !== undefined && rolesOf(roles)),
    ...(expiresDate !== undefined && { expiresAt: expiresDate === null ? null : Date.parse(expiresDate) }),
  };
}

const wireCredential = (facts: CredentialFacts) => ({
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
      const request = pageRequest(page.parse(query));
      const { rows } = await organizations.credentials.list(by(manager), manager.organization, request);
      return { items: rows.map(wireCredential), count: rows.length };
    },
  ),
  taking(
    { id: 'credentials.create', method: 'POST', path: '/api-credentials', status: 201, made: 'clientId' },
    z.strictObject(whole),
    async ({ manager, organizations, body }) => {
      const fields = { ...fieldsOf(body), ...rolesOf(body.roles), name: body.name };
      return wireCreated(await organizations.credentials.create(by(manager), manager.organization, fields));
    },
  ),
  operation(
    { id: 'credentials.get', method: 'GET', path: '/api-credentials/:id', status: 200 },
    async ({ manager, organizations, id }) =>
      wireCredential(await organizations.credentials.get(by(manager), manager.organization, id)),
  ),
  taking(
    { id: 'credentials.update', method: 'PATCH', path: '/api-credentials/:id', status: 204 },
    z.strictObject(part),
    async ({ manager, organizations, id, body }) => {
      await organizations.credentials.update(by(manager), manager.organization, id, fieldsOf(body));
      return undefined;
    },
  ),
  operation(
    { id: 'credentials.remove', method: 'DELETE', path: '/api-credentials/:id', status: 204 },
    async ({ manager, organizations, id }) => {
      await organizations.credentials.remove(by(manager), manager.organization, id);
      return undefined;
    },
  ),
  taking(
    { id: 'credentials.rotate', method: 'POST', path: '/api-credentials/:id/rotate', status: 200 },
    z.strictObject({ grace: duration({ min: '0s', max: '7d' }).optional() }).prefault({}),
    async ({ manager, organizations, id, body }) =>
      wireCreated(
        await organizations.credentials.rotate(by(manager), manager.organization, id, body.grace?.ms),
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
      await organizations.credentials.revokeSecret(by(manager), manager.organization, id, secret);
      return undefined;
    },
  ),
] as const;
