import type * as z from 'zod';
import type { Permission } from '../auth/permissions.ts';
import type { ErrorCode } from '../lib/errors.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** A request that shows how an operation is used; what is answered to it is recorded from the product. */
export interface OperationExample {
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
  readonly example: OperationExample;
}

/** A kind of object that goes over the wire, under the name by which documents and clients know it. */
export interface Shape {
  readonly name: string;
  /** What it is called as a body, where that is something else than what is answered. */
  readonly sentAs?: string;
  readonly schema: z.core.$ZodType;
  /** Kinds of it, told apart by their `type`; their schemas stand for this one's. */
  readonly variants?: readonly Shape[];
  /** Further names under which answers hold a value, each with the key whose value it is. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** What answers hold besides, and no body takes. */
  readonly answerFields?: Readonly<Record<string, z.ZodType>>;
}

/** How an answer holds its objects: a page of them, exactly one, one or none, one without the envelope, or one by one. */
export type AnswerKind = 'list' | 'item' | 'optional' | 'object' | 'stream';

/** What an operation answers, and how that is made of a verb's output. */
export interface RouteAnswer<Output> {
  readonly kind: AnswerKind;
  readonly shape: Shape;
  make(output: Output): object;
}

/** What an operation takes: an object to be there afterwards, a part that is merged into one, or text lines. */
export interface Body {
  readonly kind: 'whole' | 'part' | 'text';
  /** What Content-Type text has; lines of JSON where it is left out. */
  readonly types?: readonly string[];
  readonly shape: Shape;
  readonly isRequired: boolean;
}
