import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { AppError } from '../lib/errors.ts';

const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;

/**
 * Throws `invalid-request` for a request that names two hosts, as two readers could take it for different workspaces:
 * with two Host headers (RFC 9112 section 3.2), or with another host in its target than in Host.
 */
export function assertOneHost({ rawHeaders, headers, url }: IncomingMessage): void {
  const hosts = rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host');
  if (hosts.length > 1) throw new AppError('invalid-request', 'The request has more than one Host header');
  const target = ABSOLUTE.exec(url ?? '')?.[1];
  if (target !== undefined && target.toLowerCase() !== headers.host?.toLowerCase())
    throw new AppError(
      'invalid-request',
      'The target of the request names another host than its Host header',
    );
}

/** The name for which the certificate was asked for (RFC 6066 section 3); undefined without TLS and without a name. */
export const serverNameOf = ({ socket }: IncomingMessage): string | undefined =>
  socket instanceof TLSSocket && typeof socket.servername === 'string' ? socket.servername : undefined;
