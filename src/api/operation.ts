import type * as z from 'zod';
import type { Permission } from '../auth/permissions.ts';
import type { ErrorCode } from '../lib/errors.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** An example request; its answer is recorded from the product. */
export interface OperationExample {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Callers need a token of the API whose owner has the permission, a pipeline's token, or nothing. */
type Access = Permission | 'any actor' | 'pipeline' | 'public';

/** One row of the API, for documents, client and command line. */
export interface Operation {
  /** `resource.verb`, unique. */
  readonly id: `${string}.${string}`;
  readonly method: Method;
  /** With `:name` parameters, below `/api/v1`, or for pipelines below the origin. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  readonly params: z.core.$ZodShape;
  readonly query: z.core.$ZodShape;
  readonly body?: Body;
  /** Done only if `If-Match` holds. */
  readonly takesIfMatch: boolean;
  readonly answer: {
    readonly kind: AnswerKind;
    readonly shape: Shape;
    /** Of a list: members that may stand beside it. */
    readonly beside?: z.core.$ZodShape;
  };
  readonly hasEtag: boolean;
  /** Further statuses that come with the same answer. */
  readonly otherStatuses?: readonly { readonly status: number; readonly description: string }[];
  /** Error codes besides those that follow from the fields above. */
  readonly errors: readonly ErrorCode[];
  readonly example: OperationExample;
}

/** A kind of object on the wire, under its name in documents and clients. */
export interface Shape {
  readonly name: string;
  /** Its name as a body, where that differs from the name of the answer. */
  readonly sentAs?: string;
  readonly schema: z.core.$ZodType;
  /** Answers have what was written of it, without defaults. */
  readonly isAsWritten?: true;
  /** Variants, distinguished by their `type`; their schemas replace this one's. */
  readonly variants?: readonly Shape[];
  /** Of a body: other shapes that may be sent in its place, so that this one has no name of its own. */
  readonly alternatives?: readonly Shape[];
  /** One key whose value decides the content of another, such as the condition of a notification its conf. */
  readonly union?: {
    readonly key: string;
    readonly content: string;
    readonly options: readonly { readonly value: string; readonly name: string; readonly content: Shape }[];
  };
  /** Further names of values in answers, each with the key of the value. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Further fields of answers that no body takes. */
  readonly answerFields?: Readonly<Record<string, z.ZodType>>;
}

/** A page of objects, exactly one, one or none, one without the envelope, or a stream of them. */
export type AnswerKind = 'list' | 'item' | 'optional' | 'object' | 'stream';

/** Makes the answer of a verb's output. */
export interface RouteAnswer<Output> {
  readonly kind: AnswerKind;
  readonly shape: Shape;
  readonly beside?: z.core.$ZodShape;
  make(output: Output): object;
}

/** A whole object, a part that is merged into one, or lines of text. */
export interface Body {
  readonly kind: 'whole' | 'part' | 'text';
  /** Content types of `text`; lines of JSON where omitted. */
  readonly types?: readonly string[];
  readonly shape: Shape;
  readonly isRequired: boolean;
}
