import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { AppError, codeOf } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import { errorBody } from './errors.ts';

/** What Node's parser gives up on, by its code; everything else is no HTTP at all. */
const REASONS: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers of the request are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions of the request are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time'],
};

/** Who speaks no TLS, or another one, cannot read an answer. */
const NO_TLS = /^(?:ERR_(?:SSL|TLS)_|EPROTO$)/;

/** Answers what never became a request, in the form of every other refusal, and ends the connection. */
export function refuseUnreadable(error: Error, socket: Socket, ids: Ids): void {
  if (!socket.writable || codeOf(error) === 'ECONNRESET' || NO_TLS.test(codeOf(error))) {
    socket.destroy();
    return;
  }
  const [status, message] = REASONS[codeOf(error)] ?? [400, 'The request is not valid HTTP'];
  const body = JSON.stringify(errorBody(new AppError('invalid-request', message), ids.next()));
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
