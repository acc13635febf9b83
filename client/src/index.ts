export type {
  Authentication,
  ClientCredentials,
  GivenToken,
  MemberPassword,
  UserPassword,
} from './authentication.ts';
export type { CallOptions } from './call-options.ts';
export { type Call, type Caller, createCaller } from './caller.ts';
export { type Client, createClient } from './client.ts';
export { type ClientOptions, logIn } from './connection.ts';
export {
  type ErrorCode,
  HeadgateConnectionError,
  HeadgateError,
  HeadgateUsageError,
  type Problem,
} from './errors.ts';
export { etagOf } from './etag.ts';
export type { Page, Paged } from './paged.ts';
export type { Token } from './tokens.ts';
export type { Input, OperationId, Output, Schemas } from './types.ts';
