import { join } from 'node:path';
import * as z from 'zod';
import { headgate as command, startServer } from '../../test/acceptance/bin.ts';
import { writeConfiguration } from '../../test/acceptance/files.ts';
import { createPostgresDatabase, findPostgres } from '../../test/helpers/postgres.ts';
import { temporaryFolder } from '../delivery/temporary.ts';
import { type Algorithm, AUDIENCE, ISSUER, type LoginService, SCOPE } from './login-service.ts';

export const STORES = ['sqlite', 'postgres'] as const;
export type Store = (typeof STORES)[number];

/** More than anybody asks: the limit is on, and nobody meets it. */
const HIGH = 1_000_000;
const created = z.object({ clientId: z.string(), clientSecret: z.string() });

/** The built login service with one credential. */
export async function startHeadgate(algorithm: Algorithm, store: Store): Promise<LoginService> {
  const folder = temporaryFolder();
  const folders = { config: join(folder, 'config'), data: join(folder, 'data') };
  const database = store === 'postgres' ? await newDatabase() : undefined;
  const environment: Record<string, string> = database === undefined ? {} : { DATABASE_URL: database.url };
  writeConfiguration(folders.config, {
    settings: {
      auth: { signingAlgorithm: algorithm },
      hosted: {
        cloudDomain: 'cloud.example',
        authUrl: ISSUER,
        audience: [AUDIENCE],
        tokenRateLimit: { perSecond: HIGH, burst: HIGH },
      },
      ...(database !== undefined && { storage: { url: '${env:DATABASE_URL}' } }),
    },
  });
  const run = async (...args: string[]): Promise<string> => {
    const end = await command([...args, '--config', folders.config, '--data', folders.data], environment);
    if (end.code !== 0) throw new Error(end.stderr);
    return end.stdout;
  };
  await run('org', 'create', 'acme', '--owner', 'ann@acme.example', '--workspace', 'main');
  const asked = ['--org', 'acme', '--role', 'user', '--workspace', 'main=editor', '--json'];
  const { clientId, clientSecret } = created.parse(
    JSON.parse(await run('credentials', 'create', 'ci', ...asked)),
  );
  const server = await startServer({ ...folders, command: 'serve-login', environment });
  return {
    name: 'Headgate',
    pid: server.pid,
    url: server.url,
    tokenPath: '/oauth/token',
    keysPath: '/.well-known/jwks.json',
    issuer: ISSUER,
    form: {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      audience: AUDIENCE,
      scope: SCOPE,
    },
    async end() {
      await server.kill();
      await database?.remove();
    },
  };
}

async function newDatabase(): Promise<{ readonly url: string; remove(): Promise<void> }> {
  const forget = await findPostgres();
  const { url, remove } = await createPostgresDatabase();
  return {
    url,
    async remove() {
      await remove();
      forget();
    },
  };
}
