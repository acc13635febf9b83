import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ask, type Credential, type HostedAnswer, hostedInstallation } from '../helpers/hosted.ts';
import { createPostgresDatabase } from '../helpers/postgres.ts';
import { until } from '../helpers/until.ts';
import type { Served } from './bin.ts';

const ORGANIZATION = 'acme';

/** An installation with the workspace main of an organization, its owner's token, and a program that may come in. */
async function installed(database?: string) {
  const hosted = await hostedInstallation(database);
  const { cli, port, authUrl, tokenFor } = hosted;
  await cli('org', 'create', ORGANIZATION, '--owner', 'ann@acme.example', '--workspace', 'main');
  const credential = async (name: string, role: string): Promise<Credential> =>
    JSON.parse(await cli('credentials', 'create', name, '--org', ORGANIZATION, '--role', role, '--json'));
  const [owner, robot] = [await credential('owner', 'owner'), await credential('robot', 'admin')];
  return {
    ...hosted,
    tokens: async () => ({ owner: await tokenFor(owner), robot: await tokenFor(robot) }),
    /** What a process answers to a token, by one of the paths that any process answers itself. */
    use: ({ url }: Pick<Served, 'url'>, token: string, path = '/auth/me'): Promise<HostedAnswer> =>
      ask(`${url}/api/v1${path}`, { host: `main-${ORGANIZATION}.localhost:${port}`, token }),
    async disable(token: string): Promise<void> {
      const url = `${authUrl}/v1/organizations/${ORGANIZATION}/api-credentials/${robot.clientId}`;
      const { status } = await ask(url, { method: 'PATCH', token, body: { enabled: false } });
      expect(status).toBe(204);
    },
  };
}

const CONNECTIONS =
  'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';

/** On PostgreSQL, with two processes of the API that have let the program in, and the login service. */
async function twoProcesses() {
  const database = await createPostgresDatabase();
  onTestFinished(database.remove);
  const hosted = await installed(database.url);
  const { serve, serveLogin, port, tokens, use } = hosted;
  const [, first] = await Promise.all([serveLogin(), serve(port)]);
  await database.run(`create table of_others as ${CONNECTIONS}`);
  const second = await serve(0);
  const { owner, robot } = await tokens();
  for (const served of [first, second])
    await until(async () => (await use(served, robot, '/system/inputs')).status === 200, 'an answer');
  return {
    ...{ ...hosted, first, second, owner, robot },
    /** Ends every connection of the second process to the store, so that it hears nothing from there. */
    cutOff: () =>
      database.run(`select pg_terminate_backend(pid) from (${CONNECTIONS} except table of_others) as own`),
  };
}

/** Resolves once a request is with the process's machine, and answers then how to hear its status. */
async function sentTo(
  { url }: Pick<Served, 'url'>,
  { port, token }: { readonly port: number; readonly token: string },
): Promise<() => Promise<number>> {
  const head = [
    'GET /api/v1/auth/me HTTP/1.1',
    `Host: main-${ORGANIZATION}.localhost:${port}`,
    `Authorization: Bearer ${token}`,
    'Connection: close',
  ];
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let answer = '';
  socket
    .on('error', () => {})
    .on('data', part => {
      answer += part;
    });
  const ended = new Promise(resolve => socket.once('close', resolve));
  await new Promise(resolve => socket.write([...head, '', ''].join('\r\n'), resolve));
  return async () => {
    await ended;
    return Number(answer.split(' ')[1]);
  };
}

it('refuses a disabled program after a kill -9 of the process that had just answered so', async () => {
  const { serve, tokens, use, disable } = await installed();
  const before = await serve();
  const { owner, robot } = await tokens();
  expect((await use(before, robot)).status).toBe(200);
  await disable(owner);
  await before.kill();
  const after = await serve();
  expect((await use(after, robot)).status).toBe(401);
  expect((await use(after, owner)).status).toBe(200);
});

it('lets nobody in with a disabled program where a process was killed at once, or stood still meanwhile', async () => {
  const { serve, port, first, second, owner, robot, use, disable, cutOff } = await twoProcesses();
  second.signal('SIGSTOP');
  await cutOff();
  await disable(owner);
  await first.kill();
  const sent: (() => Promise<number>)[] = [];
  while (sent.length < 20) sent.push(await sentTo(second, { port, token: robot }));
  second.signal('SIGCONT');
  const statuses = await Promise.all(sent.map(status => status()));
  await until(async () => {
    const { status } = await use(second, robot);
    statuses.push(status);
    return status === 401;
  }, 'the refusal');
  // Until it has asked the store again it lets nobody in.
  expect(statuses.filter(status => status !== 401 && status !== 503)).toEqual([]);
  expect((await use(second, owner)).status).toBe(200);
  const again = await serve(port);
  expect((await use(again, robot)).status).toBe(401);
  expect((await use(again, owner)).status).toBe(200);
});

it('answers no request that began after a program was said to be disabled', async () => {
  const { first, second, owner, robot, use, disable } = await twoProcesses();
  const asked: { readonly begun: number; readonly status: number }[] = [];
  let answered = Infinity;
  const after = () => asked.filter(({ begun }) => begun > answered);
  const askOn = async (served: Served, path: string): Promise<void> => {
    while (after().length < 200) {
      const begun = performance.now();
      const { status } = await use(served, robot, path);
      asked.push({ begun, status });
    }
  };
  // One of the two does not lead, and sends on what is of pipelines.
  await Promise.all([
    ...[first, second].flatMap(served => [askOn(served, '/auth/me'), askOn(served, '/system/inputs')]),
    until(() => asked.length > 100, 'a hundred answers')
      .then(() => disable(owner))
      .finally(() => {
        answered = performance.now();
      }),
  ]);
  expect(asked.filter(({ status }) => status === 200).length).toBeGreaterThan(50);
  expect(after().filter(({ status }) => status === 200)).toEqual([]);
  for (const served of [first, second]) expect((await use(served, robot)).status).toBe(401);
});
