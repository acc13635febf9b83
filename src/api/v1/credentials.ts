import type { CredentialDetails } from '../../auth/organizations/credential.ts';
import type { Secret } from '../../lib/secret.ts';
import {
  createCredential,
  getCredential,
  listCredentials,
  removeCredential,
  revokeCredentialSecret,
  rotateCredential,
  updateCredential,
} from '../../resources/credentials.ts';
import { isoTime, isoTimeOrNull } from '../envelope.ts';
import { noAnswer, organizationOperation, readBack } from './organization-operation.ts';
import { wireRoles } from './roles.ts';

const wireCredential = (credential: CredentialDetails) => ({
  organizationId: credential.organization,
  clientId: credential.clientId,
  name: credential.name,
  description: credential.description,
  enabled: credential.enabled,
  roles: wireRoles(credential),
  ipAllowlist: credential.ipAllowlist,
  expiresDate: isoTimeOrNull(credential.expiresAt),
  lastUsedDate: isoTimeOrNull(credential.lastUsedAt),
  secrets: credential.secrets.map(({ id, createdAt, notAfter, lastUsedAt }) => ({
    id,
    createdDate: isoTime(createdAt),
    notAfter: isoTimeOrNull(notAfter),
    lastUsedDate: isoTimeOrNull(lastUsedAt),
  })),
  createdBy: credential.createdBy,
  createdDate: isoTime(credential.createdAt),
  lastUpdatedBy: credential.updatedBy,
  lastUpdatedDate: isoTime(credential.updatedAt),
});

/** The only answers that show a secret. */
const withClientSecret = ({ secret, ...credential }: CredentialDetails & { readonly secret: Secret }) => ({
  ...wireCredential(credential),
  clientSecret: secret.reveal(),
});

export const credentialOperations = [
  organizationOperation({
    id: 'credentials.list',
    method: 'GET',
    path: '/api-credentials',
    status: 200,
    verb: listCredentials,
    answer: ({ items }) => ({ items: items.map(wireCredential), count: items.length }),
  }),
  organizationOperation({
    id: 'credentials.create',
    method: 'POST',
    path: '/api-credentials',
    status: 201,
    createdKey: 'clientId',
    verb: createCredential,
    answer: withClientSecret,
  }),
  organizationOperation({
    id: 'credentials.get',
    method: 'GET',
    path: '/api-credentials/:id',
    status: 200,
    verb: getCredential,
    answer: wireCredential,
  }),
  organizationOperation({
    id: 'credentials.update',
    method: 'PATCH',
    path: '/api-credentials/:id',
    status: 204,
    verb: updateCredential,
    takesBack: readBack(getCredential, wireCredential, [
      'lastUsedDate',
      'lastUpdatedBy',
      'lastUpdatedDate',
      'secrets',
    ]),
    answer: noAnswer,
  }),
  organizationOperation({
    id: 'credentials.remove',
    method: 'DELETE',
    path: '/api-credentials/:id',
    status: 204,
    verb: removeCredential,
    answer: noAnswer,
  }),
  organizationOperation({
    id: 'credentials.rotate',
    method: 'POST',
    path: '/api-credentials/:id/rotate',
    status: 200,
    verb: rotateCredential,
    answer: withClientSecret,
  }),
  organizationOperation({
    id: 'credentials.revokeSecret',
    method: 'DELETE',
    path: '/api-credentials/:id/secrets/:secret',
    status: 204,
    verb: revokeCredentialSecret,
    answer: noAnswer,
  }),
] as const;
