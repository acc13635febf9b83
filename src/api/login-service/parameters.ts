import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { parseJson } from '../../lib/json.ts';
import { decodeContent } from '../content-encoding.ts';
import { assertUtf8, decodeUtf8 } from '../hooks.ts';
import { OAuthError } from './oauth-errors.ts';

/** By name; a parameter without a value counts as omitted (RFC 6749, section 3.2). */
export type FormParameters = ReadonlyMap<string, string>;

const MOST_BYTES = 8 * 1024;

const flatSchema = z.record(z.string(), z.string());

/** Reads JSON and forms, both as flat texts. Refuses a repeated name. */
export function readParameters(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  const readers = { 'application/json': fromJson, 'application/x-www-form-urlencoded': fromForm };
  for (const [type, read] of Object.entries(readers))
    scope.addContentTypeParser(
      type,
      { parseAs: 'buffer', bodyLimit: MOST_BYTES },
      async (request: FastifyRequest, body: Buffer) => {
        assertUtf8(request);
        return read(textOf(await decodeContent(request, body)));
      },
    );
}

/** A route whose body is read by `readParameters`. */
export interface WithParameters {
  readonly Body: FormParameters | null | undefined;
}

/** None where the request has no body. */
export const parametersOf = ({ body }: { readonly body: WithParameters['Body'] }): FormParameters =>
  body ?? new Map();

const malformed = (description: string): OAuthError => new OAuthError('invalid_request', description);

function textOf(body: Buffer): string {
  try {
    return decodeUtf8(body);
  } catch {
    throw malformed('The body is not valid UTF-8');
  }
}

function fromJson(text: string): FormParameters {
  if (text === '') return new Map();
  const read = flatSchema.safeParse(parsed(text));
  if (!read.success) throw malformed('The body must be a flat JSON object of texts');
  return withoutEmpty(Object.entries(read.data));
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw malformed('The body is not JSON in which each member stands once');
  }
}

function fromForm(text: string): FormParameters {
  const pairs = text
    .split('&')
    .filter(pair => pair !== '')
    .map(pair => {
      const at = pair.indexOf('=');
      const [name, value] = at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
      return [unescaped(name), unescaped(value)] as const;
    });
  const names = pairs.map(([name]) => name);
  if (new Set(names).size < names.length) throw malformed('A parameter stands twice in the body');
  if (names.includes('__proto__')) throw malformed('The body has a parameter that is not allowed');
  return withoutEmpty(pairs);
}

function unescaped(text: string): string {
  const plain = formDecoded(text);
  if (plain === undefined) throw malformed('The body is not a valid form');
  return plain;
}

/** Decodes application/x-www-form-urlencoded; undefined for invalid escapes. */
export function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

const withoutEmpty = (pairs: readonly (readonly [string, string])[]): FormParameters =>
  new Map(pairs.filter(([, value]) => value !== ''));
