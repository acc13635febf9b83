import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

const SCRIPTS = [
  'page.js',
  'api.js',
  'drawing.js',
  'rates.js',
  'session.js',
  'sign-in.js',
  'tables.js',
  'words.js',
  'reference.js',
  'operations.js',
  'schema-view.js',
];

/** The page's files, from the folder beside this module; the build lays them beside the bundle. */
const FILES = [
  { path: '/', file: 'index.html', type: 'text/html; charset=utf-8' },
  { path: '/reference', file: 'reference.html', type: 'text/html; charset=utf-8' },
  ...['page.css', 'board.css', 'reference.css'].map(file => ({
    path: `/${file}`,
    file,
    type: 'text/css; charset=utf-8',
  })),
  ...SCRIPTS.map(file => ({
    path: `/${file}`,
    file,
    type: 'text/javascript; charset=utf-8',
  })),
];

export const PAGE_ROUTES = FILES.map(({ path }) => ({ method: 'GET', path }));

/** Nothing but our own files and our own API, and no frame around it. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

export function addPage(server: FastifyInstance): void {
  for (const { path, file, type } of FILES) {
    const content = readFileSync(new URL(`./page/${file}`, import.meta.url));
    server.get(path, async (_request, reply) =>
      reply
        .type(type)
        .header('content-security-policy', POLICY)
        .header('cache-control', 'no-cache')
        .send(content),
    );
  }
}
