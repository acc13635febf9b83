import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort, type PostgresServer } from './postgres-server.ts';
import { until } from './until.ts';

/** Debian's PgBouncer in front of a server, on a free port of the loopback address. */
export interface PgBouncer {
  url(database: string): string;
  /** Ends it and removes its folder. */
  remove(): Promise<void>;
}

const PROGRAM = '/usr/sbin/pgbouncer';

/** Starts it. It refuses to run as root, so root becomes the user postgres. */
export async function startPgBouncer(
  server: PostgresServer,
  mode: 'session' | 'transaction' | 'statement',
  more = '',
): Promise<PgBouncer> {
  const port = await freePort();
  // Outside of the folder for temporary files of the tests, which only its owner may enter.
  const folder = mkdtempSync('/tmp/headgate-pgbouncer-');
  chmodSync(folder, 0o755);
  const file = (name: string): string => join(folder, name);
  writeFileSync(file('users.txt'), '"postgres" ""\n');
  writeFileSync(
    file('pgbouncer.ini'),
    configuration({ server: server.port, port, mode, users: file('users.txt'), more }),
  );
  const words = [PROGRAM, file('pgbouncer.ini')];
  const [program = '', ...args] =
    process.getuid?.() === 0
      ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', ...words]
      : words;
  const child = spawn(program, args, { cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  const lines: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => lines.push(text));
  const remove = async (): Promise<void> => {
    await ended(child);
    rmSync(folder, { recursive: true, force: true });
  };
  await until(() => {
    if (child.exitCode !== null) throw new Error(`${words.join(' ')}: ${lines.join('')}`);
    return isListening(port);
  }, 'PgBouncer');
  return { url: database => `postgres://postgres@127.0.0.1:${port}/${database}`, remove };
}

interface BouncerSettings {
  readonly server: number;
  readonly port: number;
  readonly mode: string;
  readonly users: string;
  /** Further lines of its configuration. */
  readonly more: string;
}

const configuration = ({ server, port, mode, users, more }: BouncerSettings): string => `[databases]
* = host=127.0.0.1 port=${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = ${mode}
${more}
`;

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

function isListening(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
