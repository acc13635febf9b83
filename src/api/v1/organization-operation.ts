import * as z from 'zod';
import type { Resource } from '../../auth/permissions.ts';
import { readInput } from '../../lib/problem-list.ts';
import {
  invokeInOrganization,
  type OrganizationCall,
  type OrganizationVerb,
} from '../../resources/organization-verb.ts';
import { takenBack } from '../../resources/patch.ts';
import type { Method } from '../operation.ts';

export const ORGANIZATIONS_PREFIX = '/v1/organizations';

/** The parts of a request that a verb can use. */
interface OrganizationInput {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/** An operation of the management plane, which is compatible with Cribl's, and the verb behind it. */
export interface OrganizationOperation<Id extends `${Resource}.${string}` = `${Resource}.${string}`> {
  /** `resource.verb`, for the audit and the command line. */
  readonly id: Id;
  readonly method: Method;
  /** With `:name` parameters, below `/v1/organizations/:org`. */
  readonly path: string;
  readonly status: 200 | 201 | 202 | 204;
  /** Returns the body of the answer; undefined for none. */
  run(call: OrganizationCall, input: OrganizationInput): Promise<object | undefined>;
}

interface OperationOptions<Id extends OrganizationOperation['id'], Input, Output>
  extends Omit<OrganizationOperation<Id>, 'run'> {
  /** The field of the verb's output that names a created object; `id` when left out. */
  readonly createdKey?: string;
  readonly verb: OrganizationVerb<Input, Output>;
  readonly answer: (output: Output) => object | undefined;
  readonly takesBack?: OrganizationReadBack;
}

/** What reads answer, which a change takes back. */
interface OrganizationReadBack {
  /** The input of the change without what its body, of such a schema, sends back. */
  input(call: OrganizationCall, raw: unknown, schema: z.core.$ZodType | undefined): Promise<unknown>;
}

/** `ignored` are keys of the answer that change by themselves. */
export const readBack = <Input, Output>(
  verb: OrganizationVerb<Input, Output>,
  wire: (output: Output) => object,
  ignored: readonly string[],
): OrganizationReadBack => ({
  input: (call, raw, schema) =>
    takenBack(raw, {
      ...{ schema, ignored },
      read: async input => wire(await verb.run(call, readInput(verb.input, input))),
    }),
});

export const organizationOperation = <Id extends OrganizationOperation['id'], Input, Output>({
  createdKey,
  verb,
  answer,
  takesBack,
  ...operation
}: OperationOptions<Id, Input, Output>): OrganizationOperation<Id> => ({
  ...operation,
  async run(call, { params, query, body }) {
    const { id, method } = operation;
    const values = Object.entries({ ...query, ...params }).filter(([key]) => key in verb.input.shape);
    const run = async (raw: unknown) => {
      const input = await takesBack?.input(call, raw, verb.input.shape.body);
      return verb.run(call, readInput(verb.input, input ?? raw, 'body'));
    };
    const output = await invokeInOrganization<unknown, Output>(
      { permission: verb.permission, input: z.unknown(), run: (_call, raw) => run(raw) },
      {
        call,
        called: { id, method, ...(createdKey !== undefined && { createdKey }) },
        raw: { ...Object.fromEntries(values), body },
      },
    );
    return answer(output);
  },
});

/** The body of a 202 or 204. */
export const noAnswer = (): undefined => undefined;
