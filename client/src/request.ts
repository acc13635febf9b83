import { HeadgateUsageError } from './errors.ts';
import type { Sent } from './send.ts';

/** A row of the table of operations. */
export interface Operation {
  readonly method: string;
  /** With `{name}` places. */
  readonly path: string;
  readonly query: readonly string[];
  readonly access: 'token' | 'pipeline' | 'public';
  readonly answer: 'list' | 'item' | 'optional' | 'object' | 'stream';
}

export interface RequestInput {
  readonly body?: unknown;
  readonly ifMatch?: string;
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
  readonly [name: string]: unknown;
}

/** The request of an operation. Throws `HeadgateUsageError` for a place of the path that is not given. */
export function requestOf(operation: Operation, input: RequestInput, base: string): Omit<Sent, 'signal'> {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => placeOf(input[name], name));
  const query = new URLSearchParams();
  for (const name of operation.query) {
    const value = input[name];
    if (value !== undefined && value !== null) query.set(name, String(value));
  }
  const search = query.size === 0 ? '' : `?${query}`;
  // Pipelines send to the server itself, not to its management API.
  const root = operation.access === 'pipeline' ? new URL(base).origin : base;
  return { url: root + path + search, method: operation.method, ...contentOf(input) };
}

function contentOf({ body, ifMatch }: RequestInput): Pick<Sent, 'headers' | 'body'> {
  const headers = {
    accept: 'application/json',
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  if (body === undefined) return { headers };
  return { headers, body: typeof body === 'string' ? body : JSON.stringify(body) };
}

function placeOf(value: unknown, name: string): string {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  // A dot segment would be taken out of the path (RFC 3986 section 5.2.4), and another operation asked.
  if (text === '' || text === '.' || text === '..')
    throw new HeadgateUsageError(`${name} is missing or cannot stand in a path`);
  return encodeURIComponent(text);
}
