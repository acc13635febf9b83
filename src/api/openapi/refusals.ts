import { STATUS_CODES } from 'node:http';
import type { PlainMap } from '../../config/plain.ts';
import { ERROR_CODES, type ErrorCode } from '../../lib/errors.ts';
import { STATUS } from '../errors.ts';
import type { Operation } from '../operation.ts';

/** The body of every refusal. */
export const ERROR = {
  type: 'object',
  properties: {
    status: { type: 'string', const: 'error' },
    message: { type: 'string', description: 'For people; names the place and the remedy.' },
    code: { type: 'string', enum: Object.keys(ERROR_CODES) },
    requestId: { type: 'string', description: 'Stands in the log and in the header X-Request-Id as well.' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        properties: { path: { type: 'string' }, message: { type: 'string' } },
        required: ['path', 'message'],
      },
    },
  },
  required: ['status', 'message', 'code', 'requestId'],
};

/** A refusal is called as its status is: `NotFound`. */
export const refusalName = (status: number): string =>
  (STATUS_CODES[status] ?? String(status)).replaceAll(' ', '');

/** One response for each status, with what its codes mean. */
export function refusals(): PlainMap {
  const codes = Object.entries(STATUS);
  const statuses = [...new Set(codes.map(([, status]) => status))];
  return Object.fromEntries(
    statuses.map(status => [
      refusalName(status),
      {
        description: codes
          .filter(([, one]) => one === status)
          .map(([code]) => `\`${code}\`: ${MEANINGS.get(code)}`)
          .join(' '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  );
}

const MEANINGS: ReadonlyMap<string, string> = new Map(Object.entries(ERROR_CODES));

/** Everything an operation can refuse with: what follows from its row, and what the row says itself. */
export function refusalsOf(operation: Operation): readonly ErrorCode[] {
  const { access, params, query, body, takesIfMatch, answer, errors } = operation;
  const isScoped = Object.keys(params).length > 0;
  const found: readonly (ErrorCode | false)[] = [
    (isScoped || Object.keys(query).length > 0 || body !== undefined) && 'invalid-request',
    access !== 'public' && 'unauthenticated',
    access !== 'public' && 'rate-limited',
    access !== 'public' && 'forbidden',
    access !== 'public' && access !== 'pipeline' && 'password-change-required',
    isScoped && (answer.kind !== 'optional' || 'group' in params) && 'not-found',
    takesIfMatch && 'precondition-failed',
    body !== undefined && 'body-too-large',
    body !== undefined && 'unsupported-media-type',
    ...errors,
    'unavailable',
    'internal',
  ];
  return [...new Set(found.filter(code => code !== false))];
}
