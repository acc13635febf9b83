import { request } from 'node:http';
import { createServer } from 'node:net';
import { onTestFinished } from 'vitest';
import { type Served, startServer } from '../acceptance/bin.ts';
import { type Folders, headgate, installation } from '../acceptance/harness.ts';
import { AUDIENCE } from './tenants.ts';

/** A port that was free a moment ago, and so was the one after it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = await listenOnce(0);
    if (port !== undefined && (await listenOnce(port + 1)) !== undefined) return port;
  }
}

async function listenOnce(port: number): Promise<number | undefined> {
  const server = createServer();
  const got = await new Promise<number | undefined>(resolve => {
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' ? address?.port : undefined);
    });
  });
  await new Promise(resolve => server.close(resolve));
  return got;
}

export interface HostedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what the tests ask.
  readonly body: any;
}

export interface HostedCall {
  /** The Host header; that of the url when left out. */
  readonly host?: string;
  readonly method?: string;
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request as a client that was told another address than the host's: fetch would not let it name the host. */
export function ask(url: string, { host, method = 'GET', token, body, headers = {} }: HostedCall = {}) {
  const text = body === undefined || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const sent = {
    ...(host !== undefined && { host }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(text !== undefined && { 'content-type': 'application/json' }),
    connection: 'close',
    ...headers,
  };
  return new Promise<HostedAnswer>((resolve, reject) => {
    const call = request(url, { method, headers: sent, agent: false }, response => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const answer = Buffer.concat(chunks).toString();
        const isJson = /json/.test(response.headers['content-type'] ?? '');
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: isJson && answer !== '' ? JSON.parse(answer) : answer,
        });
      });
    });
    call.on('error', reject);
    call.end(text);
  });
}

export interface Credential {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Asks a login service for tokens of credentials; throws what it answers instead. */
export const tokenFrom =
  (authUrl: string) =>
  async ({ clientId, clientSecret }: Credential, scope?: string): Promise<string> => {
    const body = {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      audience: AUDIENCE,
      ...(scope !== undefined && { scope }),
    };
    const answer = await ask(`${authUrl}/oauth/token`, { method: 'POST', body });
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body.access_token;
  };

export const METRICS_TOKEN = 'token-of-the-metrics';

interface InstallationParts {
  readonly quotas?: object;
  /** How people sign in at the login service at that address. */
  readonly auth?: (authUrl: string) => Promise<object>;
}

/** A hosted installation with nobody in it, on its own SQLite or on PostgreSQL by its url. */
export async function hostedInstallation(
  database?: string,
  { quotas = {}, auth = async () => ({}) }: InstallationParts = {},
) {
  const port = await freePort();
  const authUrl = `http://127.0.0.1:${port + 1}`;
  const folders: Folders = installation({
    settings: {
      instance: { externalUrl: `http://localhost:${port}` },
      auth: { signingAlgorithm: 'ES256', ...(await auth(authUrl)) },
      delivery: { allowedAddresses: ['127.0.0.0/8'] },
      hosted: { cloudDomain: 'localhost', authUrl, audience: [AUDIENCE], quotas },
      metrics: { token: METRICS_TOKEN },
      ...(database !== undefined && { storage: { url: '${env:DATABASE_URL}' } }),
    },
  });
  const environment: Record<string, string> = database === undefined ? {} : { DATABASE_URL: database };
  const start = async (command: 'serve' | 'serve-login', at: number): Promise<Served> => {
    const served = await startServer({ ...folders, command, environment, arguments: ['--port', String(at)] });
    onTestFinished(() => served.kill());
    return served;
  };
  const run = async (args: readonly string[], input?: string): Promise<string> => {
    const all = [...args, '--config', folders.config, '--data', folders.data];
    const end = await headgate(all, environment, input);
    if (end.code !== 0) throw new Error(end.stderr);
    return end.stdout;
  };
  return {
    port,
    authUrl,
    folders,
    serve: (at = port) => start('serve', at),
    serveLogin: () => start('serve-login', port + 1),
    /** Runs a command on the store itself; throws what it complains. */
    cli: (...args: string[]) => run(args),
    /** The same with a text on its standard input. */
    cliWith: (input: string, ...args: string[]) => run(args, input),
    tokenFor: tokenFrom(authUrl),
  };
}

/** An installation on SQLite, whose one process is the login service too, with two organizations. */
export async function twoOrganizations(quotas: object = {}) {
  const installed = await hostedInstallation(undefined, { quotas });
  const { cli, port, authUrl, tokenFor } = installed;
  const passwords = new Map<string, string>();
  const owners = new Map<string, string>();
  for (const org of ['acme', 'corp']) {
    const text = await cli('org', 'create', org, '--owner', `ann@${org}.example`, '--workspace', 'main');
    passwords.set(org, /One-time password: (\S+)/.exec(text)?.[1] ?? '');
    const made = await cli('credentials', 'create', 'robot', '--org', org, '--role', 'owner', '--json');
    owners.set(org, made);
  }
  const served = await installed.serve();
  const tokens = new Map<string, string>();
  for (const [org, made] of owners) tokens.set(org, await tokenFor(JSON.parse(made)));
  const tokenOf = (org: string): string => tokens.get(org) ?? '';
  return {
    ...installed,
    served,
    tokenOf,
    passwordOf: (org: string): string => passwords.get(org) ?? '',
    /** Asks the API of a workspace, by the host `<workspace>-<organization>.localhost`. */
    api: (label: string, path: string, call: HostedCall = {}) =>
      ask(`http://127.0.0.1:${port}/api/v1${path}`, { host: `${label}.localhost:${port}`, ...call }),
    /** Asks the management plane of an organization. */
    plane: (org: string, path: string, call: HostedCall = {}) =>
      ask(`${authUrl}/v1/organizations/${org}${path}`, { token: tokenOf(org), ...call }),
  };
}
