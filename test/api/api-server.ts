import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../../src/app/app.ts';
import { valueAt } from '../../src/config/schema-walk.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { monotonicIds } from '../../src/lib/ids.ts';
import type { Logger } from '../../src/lib/logger.ts';
import { ADMIN_PASSWORD, CHEAP_KEYS } from '../acceptance/bin.ts';
import { login } from '../acceptance/client.ts';
import { type Files, writeConfiguration } from '../acceptance/files.ts';

/** The whole product in this process, on a free port. */
export interface ApiServer {
  readonly url: string;
  /** The folder of the configuration files. */
  readonly config: string;
  /** The data folder. */
  readonly data: string;
  /** As the login answers it: with its word Bearer. */
  readonly token: string;
  /** Everything that was logged, debug records included, as JSON lines. */
  log(): string;
  /** Sends a request, with the token unless headers are given. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  stop(): Promise<void>;
}

export interface CallOptions {
  /** Names and values in the order they are sent; a name may come twice. */
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Buffer;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export async function startApiServer(
  files: Files,
  environment: Readonly<Record<string, string>> = {},
  clock: Clock = systemClock,
): Promise<ApiServer> {
  const root = mkdtempSync(join(tmpdir(), 'headgate-api-'));
  const configFolder = join(root, 'config');
  writeConfiguration(configFolder, files);
  const data = join(root, 'data');
  const lines: string[] = [];
  const app = await startApp({
    configFolder,
    dataFolder: data,
    flags: { 'api.port': '0', ...withoutLimit(files) },
    environment: { HEADGATE_ADMIN_PASSWORD: ADMIN_PASSWORD, ...cheapKeys(files), ...environment },
    clock,
    ids: monotonicIds(clock),
    random: Math.random,
    logger: loggerTo(lines),
  });
  const { token } = await login(app.url);
  return {
    url: app.url,
    config: configFolder,
    data,
    token,
    log: () => lines.join('\n'),
    call: (method, path, options = {}) =>
      send(app.url, method, path, { headers: [['authorization', token]], ...options }),
    async stop() {
      await app.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** A test about keys says in its settings what they sign with. */
const cheapKeys = ({ settings }: Files): Readonly<Record<string, string>> =>
  valueAt(settings, ['auth', 'signingAlgorithm']) === undefined ? CHEAP_KEYS : {};

/** Tests send more in a second than people do; those of the limit set it. */
const withoutLimit = ({ settings }: Files): Readonly<Record<string, string>> =>
  valueAt(settings, ['api', 'rateLimit']) === undefined ? { 'api.rateLimit.perSecond': '0' } : {};

function loggerTo(lines: string[]): Logger {
  const write = (fields: object, message: string): void =>
    void lines.push(JSON.stringify({ ...fields, message }));
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  return logger;
}

/** Sends exactly these headers and this path, which fetch would tidy up. */
function send(
  url: string,
  method: string,
  path: string,
  { headers = [], body }: CallOptions,
): Promise<Answer> {
  const { hostname, port, host } = new URL(url);
  const length = body === undefined ? [] : [['content-length', String(Buffer.byteLength(body))]];
  const sent = [['host', host], ['connection', 'close'], ...length, ...headers].flat();
  return new Promise((resolve, reject) => {
    const call = request({ hostname, port, method, path, headers: sent, agent: false }, response => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    call.on('error', reject);
    call.end(body);
  });
}

export const JSON_BODY = ['content-type', 'application/json'] as const;
