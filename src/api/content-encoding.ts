import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../lib/errors.ts';

const gunzipAsync = promisify(gunzip);

/**
 * Undoes the Content-Encoding of a body (RFC 9110 section 8.4). `mostUnpacked` bytes are what a body may be unpacked;
 * without it none may be packed. Throws `unsupported-media-type` for another encoding, `body-too-large` before more than
 * the limit is unpacked, `invalid-request` for a body that is not what its header says.
 */
export async function decodeContent(
  { headers }: Pick<FastifyRequest, 'headers'>,
  body: Buffer,
  mostUnpacked?: number,
): Promise<Buffer> {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return body;
  if (mostUnpacked === undefined || encoding !== 'gzip')
    throw new AppError(
      'unsupported-media-type',
      `Content-Encoding '${encoding.slice(0, 40)}' is not accepted here; ${mostUnpacked === undefined ? 'send the body as it is' : 'use gzip'}`,
    );
  try {
    return await gunzipAsync(body, { maxOutputLength: mostUnpacked });
  } catch (error) {
    if (error instanceof RangeError)
      throw new AppError('body-too-large', `The body is over the limit of ${mostUnpacked} bytes unpacked`);
    throw new AppError('invalid-request', 'The body is not gzip, as its Content-Encoding says', {
      cause: error,
    });
  }
}
