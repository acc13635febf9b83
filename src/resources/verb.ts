import type * as z from 'zod';
import { assertNoPasswordChangeDue, authorise } from '../auth/actor.ts';
import type { Audit } from '../auth/audit.ts';
import type { Permission } from '../auth/permissions.ts';
import { readInput } from '../lib/problem-list.ts';
import { type InvokedOperation, withAudit } from './audited.ts';
import { assertGroupExists, type Call, type CallOrigin } from './context.ts';

/** Something that can be done with a resource. A verb without a permission does not compile. */
export interface Verb<Input, Output> {
  readonly permission: Permission | 'any actor';
  /** One map for what the path, the query (`limit`), the body (`body`) and the header (`ifMatch`) bring. */
  readonly input: z.ZodType<Input> & { readonly shape: z.core.$ZodShape };
  /** Set when it is open to users who have to change their password first. */
  readonly isOpenBeforePasswordChange?: true;
  run(call: Call, input: Input): Promise<Output> | Output;
}

export const defineVerb = <Input, Output>(verb: Verb<Input, Output>): Verb<Input, Output> => verb;

interface Invocation<Call> {
  readonly call: Call;
  readonly called: InvokedOperation;
  readonly raw: unknown;
}

/**
 * Authorises, parses, acts, and audits changes and refusals. Throws `forbidden` before it looks at the input,
 * `not-found` for a group that is not there, `rate-limited` for a change too many, `invalid-request` with the first 20
 * problems.
 */
export const invoke = <Input, Output>(
  verb: Pick<Verb<Input, Output>, 'permission' | 'isOpenBeforePasswordChange' | 'run'> & {
    readonly input: z.ZodType<Input>;
  },
  invocation: Invocation<Call>,
): Promise<Output> =>
  runVerb(verb, invocation, async ({ actor, group, context, countChange }) => {
    if (verb.permission !== 'any actor') authorise(actor, verb.permission);
    else if (verb.isOpenBeforePasswordChange !== true) assertNoPasswordChangeDue(actor);
    if (group !== undefined) await assertGroupExists(context, group);
    if (invocation.called.method !== 'GET') countChange();
  });

/** Runs a verb of a workspace or of an organization: `assertAllowed` throws before the input is looked at. */
export function runVerb<
  AnyCall extends {
    readonly actor: { readonly name: string };
    readonly origin: CallOrigin;
    readonly context: { readonly audit: Pick<Audit, 'record' | 'refused'> };
  },
  Input,
  Output,
>(
  verb: {
    readonly permission: string;
    readonly input: z.ZodType<Input>;
    run(call: AnyCall, input: Input): Promise<Output> | Output;
  },
  { call, called, raw }: Invocation<AnyCall>,
  assertAllowed: (call: AnyCall) => Promise<void> | void,
): Promise<Output> {
  const { actor, origin, context } = call;
  return withAudit(
    { permission: verb.permission, actor: actor.name, origin, called, raw, audit: context.audit },
    async () => {
      await assertAllowed(call);
      return verb.run(call, readInput(verb.input, raw, 'body'));
    },
  );
}
