import * as z from 'zod';
import { type Actor, authorise, type Permission } from '../auth/permissions.ts';
import type { ConfigurationStatus } from '../config/current.ts';
import type { Configuration } from '../config/load.ts';
import type { SecretStore } from '../config/secret-store.ts';
import { AppError } from '../lib/errors.ts';
import type { Components } from '../pipelines/component.ts';
import type { WorkspaceStorage } from '../storage/storage.ts';

/** What the verbs work on: one workspace of the running product. */
export interface House {
  readonly stores: WorkspaceStorage;
  readonly components: Components;
  readonly configuration: () => Configuration;
  readonly configurationStatus: () => ConfigurationStatus;
  readonly secrets: SecretStore;
}

/** Who calls, and on what. */
export interface Call {
  readonly actor: Actor;
  readonly house: House;
}

/** Something that can be done with a resource. A verb without a permission does not compile. */
export interface Verb<Input, Output> {
  readonly permission: Permission;
  readonly input: z.ZodType<Input>;
  run(call: Call, input: Input): Promise<Output> | Output;
}

export const defineVerb = <Input, Output>(verb: Verb<Input, Output>): Verb<Input, Output> => verb;

/** Authorises, parses, acts. Throws `forbidden` before it looks at the input, `invalid-request` with every problem. */
export async function invoke<Input, Output>(
  verb: Verb<Input, Output>,
  call: Call,
  raw: unknown,
): Promise<Output> {
  authorise(call.actor, verb.permission);
  const parsed = verb.input.safeParse(raw);
  if (!parsed.success) throw invalidInput(parsed.error);
  return verb.run(call, parsed.data);
}

function invalidInput(error: z.ZodError): AppError {
  const problems = error.issues.map(issue => ({
    path: z.core.toDotPath(issue.path),
    message: issue.message,
  }));
  const first = problems[0];
  const message =
    first === undefined ? 'The request is not valid' : `${first.path || 'request'}: ${first.message}`;
  return new AppError('invalid-request', message, { problems });
}
