import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

interface PageFile {
  readonly path: string;
  readonly file: string;
  readonly type: string;
}

const html = (path: string, file: string): PageFile => ({ path, file, type: 'text/html; charset=utf-8' });
const style = (file: string): PageFile => ({ path: `/${file}`, file, type: 'text/css; charset=utf-8' });
const script = (file: string): PageFile => ({
  path: `/${file}`,
  file,
  type: 'text/javascript; charset=utf-8',
});

/** Used by both pages. */
const COMMON = [
  style('page.css'),
  ...['api.js', 'drawing.js', 'rates.js', 'session.js', 'sign-in.js', 'tables.js', 'words.js'].map(script),
];

const PAGE = [
  html('/', 'index.html'),
  html('/reference', 'reference.html'),
  ...['board.css', 'reference.css'].map(style),
  ...['page.js', 'acknowledging.js', 'removal.js', 'reference.js', 'operations.js', 'schema-view.js'].map(
    script,
  ),
  ...COMMON,
];

/** The page of the login service. */
const SIGN_IN = [
  html('/', 'login-service.html'),
  html('/sign-in', 'login-service.html'),
  script('login-service.js'),
  ...COMMON,
];

const routesOf = (files: readonly PageFile[]) => files.map(({ path }) => ({ method: 'GET', path }));

export const PAGE_ROUTES = routesOf(PAGE);
export const SIGN_IN_ROUTES = routesOf(SIGN_IN);

/** Allows our own files and API only, and no frame around the page. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

export const addPage = (server: FastifyInstance): void => serve(server, PAGE);

/**
 * Serves the page where people sign in at the login service, before it leads them to the page of a workspace. Programs ask
 * the same address whether the service is well, as Cribl's management plane answers it.
 */
export function addSignInPage(server: FastifyInstance): void {
  server.addHook('onRequest', async ({ routeOptions, headers: { accept = '' } }, reply) => {
    if (routeOptions.url !== '/') return;
    void reply.header('vary', 'accept');
    if (!/\bapplication\/json\b/i.test(accept) || /\btext\/html\b/i.test(accept)) return;
    return reply.send({ status: 'OK' });
  });
  serve(server, SIGN_IN);
}

/** The files are in the folder beside this module; the build copies them beside the bundle. */
function serve(server: FastifyInstance, files: readonly PageFile[]): void {
  for (const { path, file, type } of files) {
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
