import type { CallOptions } from './call-options.ts';
import type { OPERATIONS } from './generated/operations.ts';
import type { components, operations } from './generated/schema.ts';
import type { Paged } from './paged.ts';

/** The objects of the API by name: `Schemas['Incident']`. */
export type Schemas = components['schemas'];

/** `noun.verb` of every operation of the API. */
export type OperationId = keyof operations & keyof typeof OPERATIONS;

type Part<Operation, Place extends 'path' | 'query'> = Operation extends {
  parameters: { [Key in Place]?: infer Values };
}
  ? NonNullable<Values>
  : unknown;
type Known<Values> = [Values] extends [never] ? unknown : Values;

type Body<Operation> = Operation extends { requestBody: { content: { 'application/json': infer Value } } }
  ? { body: Value }
  : Operation extends { requestBody?: { content: { 'application/json': infer Value } } }
    ? { body?: Value }
    : unknown;
type Condition<Operation> = Operation extends { parameters: { header?: { 'If-Match'?: string } } }
  ? { ifMatch?: string }
  : unknown;

/** Everything an operation takes in one object: places of the path, query, `body`, `ifMatch`. */
export type Input<Id extends OperationId> = Known<Part<operations[Id], 'path'>> &
  Known<Part<operations[Id], 'query'>> &
  Body<operations[Id]> &
  Condition<operations[Id]>;

type Content<Id extends OperationId> = operations[Id]['responses'][200]['content'];
type Answered<Id extends OperationId> = Content<Id> extends { 'application/json': infer Body } ? Body : never;
type Hint<Id extends OperationId> = Content<Id> extends { 'text/event-stream': infer One } ? One : never;
type Item<Id extends OperationId> = Answered<Id> extends { items: (infer One)[] } ? One : never;

/** What an operation gives: objects come out of their envelopes. */
export type Output<Id extends OperationId> = {
  list: Paged<Item<Id>>;
  item: Promise<Item<Id>>;
  optional: Promise<Item<Id> | undefined>;
  object: Promise<Answered<Id>>;
  stream: AsyncIterable<Hint<Id>>;
}[(typeof OPERATIONS)[Id]['answer']];

type Call<Id extends OperationId> =
  Record<never, never> extends Input<Id>
    ? (input?: Input<Id>, options?: CallOptions) => Output<Id>
    : (input: Input<Id>, options?: CallOptions) => Output<Id>;

type Noun = OperationId extends infer Id ? (Id extends `${infer Name}.${string}` ? Name : never) : never;

/** `client.noun.verb(input)` for every operation there is. */
export type Nouns = {
  readonly [Name in Noun]: {
    readonly [Id in OperationId as Id extends `${Name}.${infer Verb}` ? Verb : never]: Call<Id>;
  };
};
