import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Pair } from './certificates.ts';

const INSTALLED = '/usr/lib/postgresql';

/** A server of its own, in a folder of its own, that may be stopped and started. */
export interface PostgresServer {
  readonly port: number;
  url(database: string): string;
  start(): void;
  /** `fast` breaks connections off, `immediate` is the server's kill -9. */
  stop(how: 'fast' | 'immediate'): void;
  /** Adds lines to postgresql.conf; they count from the next start. */
  configure(lines: string): void;
  /** Lets it speak TLS with a copy of this certificate from the next start on; connections without TLS stay possible. */
  encrypt(pair: Pair): void;
  /** Ends it and removes its folder. */
  remove(): void;
}

function programs(): string {
  const [newest] = readdirSync(INSTALLED).sort((a, b) => Number(b) - Number(a));
  if (newest === undefined) throw new Error(`these tests need Debian's postgresql below ${INSTALLED}`);
  return join(INSTALLED, newest, 'bin');
}

/** Root may not run a server, so root becomes the user postgres. */
function run(program: string, args: readonly string[]): void {
  const command = [join(programs(), program), ...args];
  const words =
    process.getuid?.() === 0
      ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', ...command]
      : command;
  const [first = '', ...rest] = words;
  const { status, stdout, stderr, error } = spawnSync(first, rest, {
    encoding: 'utf8',
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (status !== 0) throw new Error(`${words.join(' ')}: ${error ?? `${stdout}${stderr}`}`);
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

/** Starts PostgreSQL of Debian's package on a free port of the loopback address. */
export async function startPostgres(): Promise<PostgresServer> {
  const port = await freePort();
  // Outside of the folder for temporary files of the tests, which only its owner may enter.
  const folder = mkdtempSync('/tmp/headgate-postgres-');
  if (process.getuid?.() === 0) spawnSync('chown', ['postgres', folder]);
  const data = join(folder, 'data');
  const control = (...args: string[]): void => run('pg_ctl', ['-D', data, '-w', ...args]);
  const server: PostgresServer = {
    port,
    url: database => `postgres://postgres@127.0.0.1:${port}/${database}`,
    start: () => control('start', '-l', join(folder, 'log')),
    stop: how => control('stop', '-m', how),
    configure: lines => appendFileSync(join(data, 'postgresql.conf'), `${lines}\n`),
    encrypt({ cert, key }) {
      writeFileSync(join(data, 'server.crt'), readFileSync(cert));
      writeFileSync(join(data, 'server.key'), readFileSync(key), { mode: 0o600 });
      if (process.getuid?.() === 0) spawnSync('chown', ['postgres', join(data, 'server.key')]);
      server.configure('ssl = on');
    },
    remove() {
      try {
        control('stop', '-m', 'immediate');
      } catch {
        // It is stopped already.
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
  run('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync']);
  server.configure(
    `port = ${port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '${folder}'\nshared_buffers = 16MB`,
  );
  // Whoever is called locked has to show a password.
  writeFileSync(
    join(data, 'pg_hba.conf'),
    'host all locked 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n',
  );
  server.start();
  return server;
}
