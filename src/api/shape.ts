import type * as z from 'zod';

/** A kind of object that goes over the wire, under the name by which documents and clients know it. */
export interface Shape {
  readonly name: string;
  /** What it is called as a body, where that is something else than what is answered. */
  readonly sentAs?: string;
  readonly schema: z.core.$ZodType;
  /** Kinds of it, told apart by their `type`; their schemas stand for this one's. */
  readonly kinds?: readonly Shape[];
  /** Further names under which answers hold a value, each with the key whose value it is. */
  readonly also?: Readonly<Record<string, string>>;
  /** What answers hold besides, and no body takes. */
  readonly adds?: Readonly<Record<string, z.ZodType>>;
}

/** How an answer holds its objects: a page of them, exactly one, one or none, one without the envelope, or one by one. */
export type AnswerKind = 'list' | 'item' | 'optional' | 'object' | 'stream';

/** What an operation answers, and how that is made of a verb's output. */
export interface Answer<Output> {
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
