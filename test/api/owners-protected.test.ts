import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { organizationOperations } from '../../src/api/v1/organizations.ts';
import { type OrganizationActor, ROLE_RANKS } from '../../src/auth/actor.ts';
import { createWorkspaces } from '../../src/auth/organizations/workspaces.ts';
import { organizationKey } from '../../src/auth/tenant-name.ts';
import { ORGANIZATION_ROLES, type OrganizationRole } from '../../src/storage/tables.ts';
import { notedAudit } from '../helpers/audit.ts';
import { OWNER, openTenants, type Tenants } from '../helpers/tenants.ts';

let tenants: Tenants;
beforeAll(async () => {
  tenants = await openTenants();
});
afterAll(() => tenants.close());

const operations = organizationOperations(() => 'cloud.example').filter(({ method }) => method !== 'GET');
const rolesOf = (organizationRole: OrganizationRole) => ({
  organizationRole,
  ...(organizationRole === 'user' && {
    workspaces: [
      { workspaceId: 'main', workspaceRole: 'user', products: [{ product: 'stream', role: 'reader' }] },
    ],
  }),
});
const assignments = (organizationRole: OrganizationRole) => ({
  organizationRole,
  workspaces: organizationRole === 'user' ? ([{ workspace: 'main', role: 'reader' }] as const) : [],
});

async function subject(path: string, role: OrganizationRole) {
  if (path.startsWith('/members')) {
    const { member } = await tenants.members.add(OWNER, `${tenants.ids.next()}@a.example`, assignments(role));
    return { id: member.userId };
  }
  const { clientId, secrets } = await tenants.credential(assignments(role));
  return { id: clientId, secret: secrets[0]?.id };
}

const actorOf = (kind: OrganizationActor['kind'], role: OrganizationRole): OrganizationActor => ({
  ...OWNER,
  kind,
  id: 'somebody',
  role,
});

function run(
  operation: (typeof operations)[number],
  actor: OrganizationActor,
  input: { readonly params: object; readonly body: unknown },
) {
  const { storage, feed, clock, credentials, members } = tenants;
  const workspaces = createWorkspaces({ storage, feed, clock });
  const auditLog = storage.in(organizationKey('acme')).audit;
  const context = { credentials, members, workspaces, auditLog, audit: notedAudit() };
  const call = { actor, context, origin: { address: '192.0.2.1', requestId: 'r' } };
  return operation.run(call, { ...input, params: { ...input.params }, query: {} });
}

/** Every body that an operation on somebody takes. A new operation needs a line here. */
const BODIES: Readonly<Record<string, readonly unknown[]>> = {
  'credentials.update': [{ enabled: false }, { description: 'x' }, { roles: rolesOf('user') }, {}],
  'credentials.remove': [undefined],
  'credentials.rotate': [undefined, { grace: '0s' }],
  'credentials.revokeSecret': [undefined],
  'members.update': [{ roles: rolesOf('user') }, { roles: rolesOf('admin') }],
  'members.resetPassword': [undefined],
  'members.remove': [undefined],
};
/** Workspaces have no rank. */
const ofSomebody = operations.filter(
  ({ id, path }) => path.includes('/:id') && !id.startsWith('workspaces.'),
);
const KINDS = ['member', 'credential'] as const;
const lower = ORGANIZATION_ROLES.flatMap(actor =>
  ORGANIZATION_ROLES.filter(one => ROLE_RANKS[one] > ROLE_RANKS[actor]).map(held => ({ actor, held })),
);

describe.each(ofSomebody)('$id', operation => {
  it.each(KINDS.flatMap(kind => lower.map(pair => ({ kind, ...pair }))))(
    'is refused to a $kind of role $actor for somebody of role $held',
    async ({ kind, actor, held }) => {
      const bodies = BODIES[operation.id];
      if (bodies === undefined) throw new Error(`no bodies for ${operation.id}`);
      const params = await subject(operation.path, held);
      for (const body of bodies)
        await expect(run(operation, actorOf(kind, actor), { params, body })).rejects.toMatchObject({
          code: 'forbidden',
        });
    },
  );

  it('is open to an owner for an owner', async () => {
    for (const body of BODIES[operation.id] ?? []) {
      const params = await subject(operation.path, 'owner');
      await expect(run(operation, OWNER, { params, body })).resolves.not.toThrow();
    }
  });
});

describe.each(operations.filter(({ id }) => /^(credentials|members)\.(create|update)$/.test(id)))(
  '$id',
  operation => {
    it.each(KINDS)('makes nobody an owner by a %s of role admin', async kind => {
      const params = operation.path.includes('/:id') ? await subject(operation.path, 'user') : {};
      const named = { 'credentials.create': { name: 'x' }, 'members.create': { email: 'x@a.example' } };
      const body = { ...Object(Reflect.get(named, operation.id)), roles: rolesOf('owner') };
      await expect(run(operation, actorOf(kind, 'admin'), { params, body })).rejects.toMatchObject({
        code: 'forbidden',
      });
    });
  },
);
