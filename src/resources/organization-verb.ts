import type * as z from 'zod';
import { authoriseInOrganization, type OrganizationActor } from '../auth/actor.ts';
import type { Audit } from '../auth/audit.ts';
import type { Credentials } from '../auth/organizations/credentials.ts';
import type { Members } from '../auth/organizations/members.ts';
import type { Workspaces } from '../auth/organizations/workspaces.ts';
import type { Permission } from '../auth/permissions.ts';
import type { AuditStore } from '../storage/stores/audit.ts';
import type { InvokedOperation } from './audited.ts';
import type { CallOrigin } from './context.ts';
import { runVerb } from './verb.ts';

/** One organization of a hosted deployment, as its verbs use it. */
export interface OrganizationContext {
  readonly credentials: Credentials;
  readonly members: Members;
  readonly workspaces: Workspaces;
  /** Entries about the organization as a whole. */
  readonly auditLog: AuditStore;
  readonly audit: Pick<Audit, 'record' | 'refused'>;
}

export interface OrganizationCall {
  readonly actor: OrganizationActor;
  readonly context: OrganizationContext;
  readonly origin: CallOrigin;
}

/** An action on a resource of an organization. */
export interface OrganizationVerb<Input, Output> {
  readonly permission: Permission;
  /** One map of the path's parameters, the query and the body (`body`). */
  readonly input: z.ZodType<Input> & { readonly shape: z.core.$ZodShape };
  run(call: OrganizationCall, input: Input): Promise<Output>;
}

export const defineOrganizationVerb = <Input, Output>(
  verb: OrganizationVerb<Input, Output>,
): OrganizationVerb<Input, Output> => verb;

/** Throws as `invoke` does for a verb of a workspace. */
export const invokeInOrganization = <Input, Output>(
  verb: Pick<OrganizationVerb<Input, Output>, 'permission' | 'run'> & { readonly input: z.ZodType<Input> },
  invocation: {
    readonly call: OrganizationCall;
    readonly called: InvokedOperation;
    readonly raw: unknown;
  },
): Promise<Output> =>
  runVerb(verb, invocation, ({ actor }) => authoriseInOrganization(actor, verb.permission));
