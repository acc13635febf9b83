import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { until } from '../helpers/until.ts';

export const BIN = join(import.meta.dirname, '../../dist/main.js');
const READY = /^headgate ready on (https?:\/\/\S+)$/m;

export const ADMIN_PASSWORD = 'a password for the tests';

/** How a process ended: its code, or the signal that ended it. */
interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Finished extends End {
  readonly stdout: string;
  readonly stderr: string;
}

/** A child process whose output is kept. */
export interface Running {
  readonly pid: number;
  readonly ended: Promise<End>;
  stdout(): string;
  stderr(): string;
  signal(name: NodeJS.Signals): void;
  /** kill -9, and waits for the end; nothing when it has ended already. */
  kill(): Promise<void>;
}

/** A server that accepts requests. */
export interface Served extends Running {
  readonly url: string;
  /** Log records, as they were written to stderr. */
  records(): readonly LogRecord[];
}

interface LogRecord {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export type Environment = Readonly<Record<string, string>>;

export interface ServeOptions {
  readonly config: string;
  readonly data: string;
  readonly environment?: Environment;
  readonly arguments?: readonly string[];
  /** `serve` when left out. */
  readonly command?: 'serve' | 'serve-login';
}

/** Children still alive: a worker of vitest that ends early must leave none behind. */
const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** Starts a program and keeps what it prints. */
export function run(
  program: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  input = '',
): Running {
  const child = spawn(program, [...args], { env: environment, stdio: 'pipe' });
  // A program that ends without reading closes its end.
  child.stdin.on('error', () => {}).end(input);
  const out: string[] = [];
  const err: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => out.push(text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => err.push(text));
  alive.add(child);
  const ended = new Promise<End>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      alive.delete(child);
      resolve({ code, signal });
    });
  });
  return {
    pid: child.pid ?? 0,
    ended,
    stdout: () => out.join(''),
    stderr: () => err.join(''),
    signal: name => void child.kill(name),
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** To make a key for RS256 takes a quarter of a second; tests about keys say what they sign with themselves. */
export const CHEAP_KEYS = { HEADGATE_AUTH_SIGNING_ALGORITHM: 'ES256' } as const;

/** The environment of this process without what would configure the product, and with what the test sets. */
function environmentFor(own: Environment): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(HEADGATE_|NODE_OPTIONS|VITEST|FORCE_COLOR|NO_COLOR)/.test(name),
  );
  return { ...Object.fromEntries(inherited), ...own };
}

/** Runs a command of the built bin to its end; `input` is what comes on its standard input. */
export async function headgate(
  args: readonly string[],
  environment: Environment = {},
  input?: string,
): Promise<Finished> {
  const running = run(process.execPath, [BIN, ...args], environmentFor(environment), input);
  const end = await running.ended;
  return { ...end, stdout: running.stdout(), stderr: running.stderr() };
}

/** Tests and benchmarks look more often than people do. */
const UNLIMITED = { HEADGATE_API_RATE_LIMIT_PER_SECOND: '0' };

/** Starts `headgate serve`, or another command, on a free port, without waiting for it. */
export function launch(options: ServeOptions): Running {
  const {
    config,
    data,
    command = 'serve',
    environment = { HEADGATE_ADMIN_PASSWORD: ADMIN_PASSWORD },
  } = options;
  const args = options.arguments ?? ['--port', '0'];
  return run(
    process.execPath,
    [BIN, command, '--config', config, '--data', data, ...args],
    environmentFor({ ...UNLIMITED, ...CHEAP_KEYS, ...environment }),
  );
}

/** Starts `headgate serve` and waits for its line `headgate ready on http://…`. */
export async function startServer(options: ServeOptions): Promise<Served> {
  const running = launch(options);
  let end: End | undefined;
  void running.ended.then(result => {
    end = result;
  });
  const address = () => READY.exec(running.stdout())?.[1];
  await until(() => address() !== undefined || end !== undefined, 'the ready line');
  const url = address();
  if (url === undefined)
    throw new Error(`the server ended with ${JSON.stringify(end)}:\n${running.stderr()}`);
  return { ...running, url, records: () => recordsIn(running.stderr()) };
}

/** The records among the lines; a last line may still be on its way. */
function recordsIn(text: string): LogRecord[] {
  return text.split('\n').flatMap(line => {
    if (!line.startsWith('{') || !line.endsWith('}')) return [];
    const record: LogRecord = JSON.parse(line);
    return [record];
  });
}
