import type * as z from 'zod';
import type { Permission } from '../auth/permissions.ts';
import type { ErrorCode } from '../lib/errors.ts';
import type { AnswerKind, Body, Shape } from './shape.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** A request that shows how an operation is used; what is answered to it is recorded from the product. */
export interface Example {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** What callers must show: a token of the API whose owner has the permission, a pipeline's token, or nothing. */
type Access = Permission | 'any actor' | 'pipeline' | 'public';

/** One row of the API as documents, client and command line know it. */
export interface Operation {
  /** `noun.verb`, unique. */
  readonly id: `${string}.${string}`;
  readonly method: Method;
  /** With `:name` places, below the base that its access says: `/api/v1`, or for pipelines the origin. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  readonly params: z.core.$ZodShape;
  readonly query: z.core.$ZodShape;
  readonly body?: Body;
  /** Whether it is done only if `If-Match` holds. */
  readonly takesIfMatch: boolean;
  readonly answer: { readonly kind: AnswerKind; readonly shape: Shape };
  /** Whether the answer carries an ETag. */
  readonly hasEtag: boolean;
  /** Further statuses that come with the same answer. */
  readonly otherStatuses?: readonly { readonly status: number; readonly description: string }[];
  /** What can be refused beyond what follows from all the above. */
  readonly errors: readonly ErrorCode[];
  readonly example: Example;
}
