import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';

/** Generated files, which lie beside the bundle as well. */
const DOCUMENTS = [
  { path: '/openapi.json', file: 'openapi/openapi.json', copy: 'openapi.json' },
  ...['headgate', 'notifications', 'inputs', 'outputs'].map(name => {
    const file = `schemas/${name}.json`;
    return { path: `/${file}`, file, copy: file };
  }),
] as const;

export const DOCUMENT_ROUTES = DOCUMENTS.map(({ path }) => ({ method: 'GET', path }) as const);

const placeOf = ({ file, copy }: (typeof DOCUMENTS)[number]): URL =>
  new URL(import.meta.url.endsWith('.ts') ? `../../../${file}` : `./${copy}`, import.meta.url);

/** The document of this version, as it is and packed, and the tag of its content. */
interface ServedDocument {
  readonly plain: Buffer;
  readonly packed: Buffer;
  readonly tag: string;
}

async function readDocument(place: URL): Promise<ServedDocument> {
  const plain = await readFile(place);
  const tag = createHash('sha256').update(plain).digest('base64url').slice(0, 22);
  return { plain, packed: await pack(plain), tag };
}

const pack = promisify(gzip);

/** Serves the documents of this version to everybody: they hold nothing secret. Who has one already is told so. */
export function addDocuments(server: FastifyInstance): void {
  for (const document of DOCUMENTS) {
    let reading: Promise<ServedDocument> | undefined;
    server.get(document.path, async ({ headers }, reply) => {
      reading ??= readDocument(placeOf(document));
      const { plain, packed, tag } = await reading;
      const isPacked = acceptsGzip(headers['accept-encoding']);
      // Each form has a tag of its own (RFC 9110 section 8.8.3.3).
      const etag = isPacked ? `"${tag}-gzip"` : `"${tag}"`;
      void reply.headers({ 'cache-control': 'no-cache', vary: 'accept-encoding', etag });
      if (hasTag(headers['if-none-match'], tag)) return reply.code(304).send();
      if (isPacked) void reply.header('content-encoding', 'gzip');
      return reply.type('application/json; charset=utf-8').send(isPacked ? packed : plain);
    });
  }
}

/** True when gzip is named, or everything, and not by the weight 0. */
function acceptsGzip(accepted: string | string[] | undefined): boolean {
  const codings = String(accepted ?? '')
    .toLowerCase()
    .split(',')
    .map(one => one.split(';').map(part => part.trim()));
  const found = codings.find(([name]) => name === 'gzip') ?? codings.find(([name]) => name === '*');
  return found !== undefined && !found.slice(1).some(weight => /^q=0(?:\.0*)?$/.test(weight));
}

/** True for either form: a tag in `If-None-Match` is compared weakly (RFC 9110 section 13.1.2). */
const hasTag = (ifNoneMatch: string | undefined, tag: string): boolean =>
  (ifNoneMatch ?? '')
    .split(',')
    .map(one => one.trim().replace(/^W\//, ''))
    .some(one => one === '*' || one === `"${tag}"` || one === `"${tag}-gzip"`);
