import { request } from 'node:http';
import { join } from 'node:path';
import * as z from 'zod';
import { headgate, type Served, startServer } from '../../test/acceptance/bin.ts';
import { writeConfiguration } from '../../test/acceptance/files.ts';
import { temporaryFolder } from '../delivery/temporary.ts';
import { freePort } from '../free-port.ts';

export const INGEST_TOKEN = 'token-of-the-pipeline';
const AUDIENCE = 'https://api.example';
const created = z.object({ clientId: z.string(), clientSecret: z.string() });
const issued = z.object({ access_token: z.string() });

/** A workspace of a running installation, as its clients reach it. */
export interface Workspace {
  readonly port: number;
  readonly host: string;
  readonly token: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends one request; `Host` is the workspace's. */
export function ask(
  { port, host, token }: Workspace,
  path: string,
  { method = 'GET', body, ingest = false }: { method?: string; body?: string; ingest?: boolean } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        ...{ host: '127.0.0.1', port, path, method },
        headers: {
          host: `${host}:${port}`,
          authorization: `Bearer ${ingest ? INGEST_TOKEN : token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
      },
      response => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        );
      },
    );
    call.on('error', reject);
    call.end(body);
  });
}

/** Starts the built server with a workspace for each organization, with the default quotas. */
export async function startWorkspaces(
  organizations: readonly string[],
): Promise<{ readonly server: Served; readonly workspaces: readonly Workspace[] }> {
  const folder = temporaryFolder();
  const folders = { config: join(folder, 'config'), data: join(folder, 'data') };
  const port = await freePort();
  const authUrl = `http://127.0.0.1:${port + 1}`;
  writeConfiguration(folders.config, {
    settings: {
      instance: { externalUrl: `http://localhost:${port}` },
      auth: { signingAlgorithm: 'ES256' },
      delivery: { allowedAddresses: ['127.0.0.0/8'] },
      hosted: { cloudDomain: 'localhost', authUrl, audience: [AUDIENCE] },
    },
  });
  const run = async (...args: string[]): Promise<string> => {
    const end = await headgate([...args, '--config', folders.config, '--data', folders.data]);
    if (end.code !== 0) throw new Error(end.stderr);
    return end.stdout;
  };
  const credentials: z.infer<typeof created>[] = [];
  for (const org of organizations) {
    await run('org', 'create', org, '--owner', `ann@${org}.example`, '--workspace', 'main');
    const made = await run('credentials', 'create', 'robot', '--org', org, '--role', 'owner', '--json');
    credentials.push(created.parse(JSON.parse(made)));
  }
  const server = await startServer({ ...folders, arguments: ['--port', String(port)] });
  const workspaces: Workspace[] = [];
  for (const [at, { clientId, clientSecret }] of credentials.entries()) {
    const answer = await fetch(`${authUrl}/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        audience: AUDIENCE,
      }),
    });
    const { access_token: token } = issued.parse(await answer.json());
    workspaces.push({ port, host: `main-${organizations[at]}.localhost`, token });
  }
  return { server, workspaces };
}

/** One more object of the configuration, or other settings; throws what the server answers instead. */
export async function configure(workspace: Workspace, path: string, value: object): Promise<void> {
  const method = path === '/system/settings/conf' ? 'PATCH' : 'POST';
  const { status, text } = await ask(workspace, `/api/v1${path}`, { method, body: JSON.stringify(value) });
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
}
