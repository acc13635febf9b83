import { join } from 'node:path';
import { Pool } from 'undici';
import { ADMIN_PASSWORD, startServer } from '../../test/acceptance/bin.ts';
import { login } from '../../test/acceptance/client.ts';
import { writeConfiguration } from '../../test/acceptance/files.ts';
import { until } from '../../test/helpers/until.ts';
import { temporaryFolder } from '../delivery/temporary.ts';

export const PASSWORD = 'violet-giraffes-mend-9-clocks';
const PIPELINE_TOKEN = 'token-of-the-measured-pipeline';
const INPUTS = 20;

interface Sent {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Heard {
  readonly status: number;
  readonly text: string;
  /** Milliseconds until the whole answer was there. */
  readonly ms: number;
}

/** The built product with an admin and a pipeline of 20 inputs. */
export interface Measured {
  readonly pid: number;
  readonly url: string;
  /** Of the admin, as a value of Authorization. */
  readonly token: string;
  /** Over kept connections, with the admin's token unless headers are given. */
  ask(sent: Sent): Promise<Heard>;
  /** Whatever the name and the password are. `address` is where the caller seems to be. */
  logIn(username: string, password: string, address?: string): Promise<Heard>;
  /** Answers the id. */
  addUser(username: string, facts?: object): Promise<string>;
  end(): Promise<void>;
}

export async function startMeasured(loginRateLimit: string): Promise<Measured> {
  const folder = temporaryFolder();
  const config = join(folder, 'config');
  writeConfiguration(config, {
    settings: {
      // Callers say where they are, so that only the limit that is measured is met.
      api: { loginRateLimit, loginBackOff: { after: 0 }, trustedProxies: ['127.0.0.1'] },
      pipelines: [{ id: 'edge', engine: 'custom', push: true, token: PIPELINE_TOKEN }],
    },
  });
  const server = await startServer({ config, data: join(folder, 'data') });
  const { token } = await login(server.url, ADMIN_PASSWORD);
  const pool = new Pool(server.url, { connections: 64, pipelining: 1 });

  async function ask({ method, path, body, headers = { authorization: token } }: Sent): Promise<Heard> {
    const begun = performance.now();
    const answer = await pool.request({
      method,
      path,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, text, ms: performance.now() - begun };
  }

  const measured: Measured = {
    pid: server.pid,
    url: server.url,
    token,
    ask,
    logIn: (username, password, address) =>
      ask({
        method: 'POST',
        path: '/api/v1/auth/login',
        body: { username, password },
        headers: address === undefined ? {} : { 'x-forwarded-for': address },
      }),
    async addUser(username, facts = {}) {
      const body = { username, password: PASSWORD, forcePasswordChange: false, ...facts };
      const { status, text } = await ask({ method: 'POST', path: '/api/v1/system/users', body });
      if (status !== 200) throw new Error(`the user was answered ${status}: ${text}`);
      return JSON.parse(text).items[0].id;
    },
    async end() {
      await pool.destroy();
      await server.kill();
    },
  };
  await fill(measured);
  return measured;
}

async function fill({ ask }: Measured): Promise<void> {
  const samples = Array.from({ length: INPUTS }, (_, index) => ({
    kind: 'input',
    type: 'syslog',
    id: `source_${index}`,
  })).flatMap(input => [
    { ...input, metric: 'in_events', value: 1840 },
    { ...input, metric: 'in_bytes', value: 262_144 },
  ]);
  const headers = { authorization: `Bearer ${PIPELINE_TOKEN}` };
  await ask({ method: 'POST', path: '/ingest/samples', body: { instance: 'a', samples }, headers });
  await until(async () => {
    const { text } = await ask({ method: 'GET', path: '/api/v1/system/inputs' });
    return JSON.parse(text).count === INPUTS;
  }, `${INPUTS} inputs`);
}
