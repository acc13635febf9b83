import * as z from 'zod';
import { type Actor, assertNoPasswordChangeDue, authorise } from '../auth/actor.ts';
import type { Audit } from '../auth/audit.ts';
import type { Permission } from '../auth/permissions.ts';
import type { IngestTokens } from '../auth/tokens/ingest-tokens.ts';
import type { KeyRotation } from '../auth/tokens/key-rotation.ts';
import type { Users } from '../auth/users/users.ts';
import type { ConfigChange, ConfigEdit } from '../config/change.ts';
import type {
  CheckFindings,
  Configuration,
  ConfigurationStatus,
  FileTexts,
} from '../config/configuration.ts';
import type { SecretStore } from '../config/secrets/store.ts';
import type { TestSend } from '../delivery/test-send.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError, notFound } from '../lib/errors.ts';
import type { Components } from '../pipelines/components/component.ts';
import type { MinuteRecorder } from '../pipelines/history/recorder.ts';
import type { WorkspaceStorage, WorkspaceTransaction } from '../storage/storage.ts';
import type { RequeueFilter } from '../storage/stores/deliveries.ts';
import type { CommittedChange } from '../storage/types.ts';
import { type CallOrigin, type InvokedOperation, withAudit } from './audited.ts';
import { groupsOf } from './context.ts';

/** What the verbs work on: one workspace of the running product. */
export interface WorkspaceContext {
  readonly stores: WorkspaceStorage;
  readonly components: Components;
  /** What components did in the last minute. */
  readonly minutes: Pick<MinuteRecorder, 'last' | 'recordedCount'>;
  readonly configuration: () => Configuration;
  readonly configurationStatus: () => ConfigurationStatus;
  /** The texts of the configuration that was read last, secrets masked. */
  readonly configurationTexts: () => FileTexts;
  /** Makes a change and answers the configuration that is in force with it. */
  readonly save: (change: ConfigChange) => Promise<Configuration>;
  /** The configuration that changes would come to, which nothing keeps. */
  readonly dryRun: (edits: (now: Configuration) => readonly ConfigEdit[]) => Promise<Configuration>;
  /** Sends a test to a target as deliveries are sent. Throws `rate-limited` when too many are asked for. */
  readonly testSend: TestSend;
  /** What the configuration would be if these texts stood on disk. */
  readonly checkTexts: (texts: FileTexts) => Promise<CheckFindings>;
  readonly secrets: SecretStore;
  readonly ingestTokens: IngestTokens;
  readonly users: Users;
  readonly keys: Pick<KeyRotation, 'list' | 'rotate'>;
  readonly audit: Pick<Audit, 'record' | 'refused'>;
  readonly transaction: <Result>(work: (tx: WorkspaceTransaction) => Promise<Result>) => Promise<Result>;
  /**
   * Puts deliveries back into the queue of the process that sends; says how many, and how many were left alone because
   * their target has got later news. Rejects with `unavailable` in any other process.
   */
  readonly requeue: (
    filter: RequeueFilter,
    now: number,
  ) => Promise<{ readonly requeued: number; readonly overtaken: number }>;
  /** Why what is due for a target waits its turn, as far as this process sends; undefined when it does not. */
  readonly heldBecause: (target: string) => string | undefined;
  readonly clock: Pick<Clock, 'now'>;
  /** Tells of what is committed from now on, here and in other processes; the answer ends it. */
  readonly subscribe: (listener: (fact: CommittedChange) => void) => () => void;
}

/** Who calls, and on what. */
export interface Call {
  readonly actor: Actor;
  readonly context: WorkspaceContext;
  /** Where the call comes from. */
  readonly origin: CallOrigin;
  /** The one group the call is about; undefined for all of them. */
  readonly group?: string | undefined;
}

/** Something that can be done with a resource. A verb without a permission does not compile. */
export interface Verb<Input, Output> {
  readonly permission: Permission | 'any actor';
  /** One map for what the path, the query (`limit`), the body (`body`) and the header (`ifMatch`) bring. */
  readonly input: z.ZodType<Input> & { readonly shape: z.core.$ZodShape };
  /** Whether it is open to whoever has to change the own password first. */
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
 * `not-found` for a group without pipelines, `invalid-request` with every problem.
 */
export const invoke = <Input, Output>(
  verb: Pick<Verb<Input, Output>, 'permission' | 'isOpenBeforePasswordChange' | 'run'> & {
    readonly input: z.ZodType<Input>;
  },
  invocation: Invocation<Call>,
): Promise<Output> =>
  runVerb(verb, invocation, ({ actor, group, context }) => {
    if (verb.permission !== 'any actor') authorise(actor, verb.permission);
    else if (verb.isOpenBeforePasswordChange !== true) assertNoPasswordChangeDue(actor);
    if (group !== undefined && !groupsOf(context.configuration()).has(group)) throw notFound('group', group);
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
  assertAllowed: (call: AnyCall) => void,
): Promise<Output> {
  const { actor, origin, context } = call;
  return withAudit(
    { permission: verb.permission, actor: actor.name, origin, called, raw, audit: context.audit },
    async () => {
      assertAllowed(call);
      const parsed = verb.input.safeParse(raw);
      if (!parsed.success) throw invalidInput(parsed.error);
      return verb.run(call, parsed.data);
    },
  );
}

/** A refusal that names every problem; paths in the body are told as its sender knows them. */
export function invalidInput(error: z.ZodError): AppError {
  const problems = error.issues.map(issue => ({
    path: z.core.toDotPath(issue.path[0] === 'body' ? issue.path.slice(1) : issue.path),
    message: messageOf(issue),
  }));
  const first = problems[0];
  const message =
    first === undefined ? 'The request is not valid' : `${first.path || 'request'}: ${first.message}`;
  return new AppError('invalid-request', message, { problems });
}

/** The schema library's own words for a wrong type are no words of ours. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type' || !issue.message.startsWith('Invalid input')) return issue.message;
  return issue.message.endsWith('received undefined') ? 'is required' : `must be a JSON ${issue.expected}`;
}
