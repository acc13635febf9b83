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
  const text = body === undefined ? undefined : JSON.stringify(body);
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

/**
 * A hosted installation with nobody in it, on its own SQLite or on PostgreSQL by its url; `auth` says how people sign in
 * at the login service at that address.
 */
export async function hostedInstallation(
  database?: string,
  auth: (authUrl: string) => Promise<object> = async () => ({}),
) {
  const port = await freePort();
  const authUrl = `http://127.0.0.1:${port + 1}`;
  const folders: Folders = installation({
    settings: {
      instance: { externalUrl: `http://localhost:${port}` },
      auth: { signingAlgorithm: 'ES256', ...(await auth(authUrl)) },
      delivery: { allowedAddresses: ['127.0.0.0/8'] },
      hosted: { cloudDomain: 'localhost', authUrl, audience: [AUDIENCE] },
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
    /** A token for a credential. */
    async tokenFor({ clientId, clientSecret }: Credential): Promise<string> {
      const body = {
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        audience: AUDIENCE,
      };
      const answer = await ask(`${authUrl}/oauth/token`, { method: 'POST', body });
      if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
      return answer.body.access_token;
    },
  };
}
