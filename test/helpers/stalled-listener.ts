import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { until } from './until.ts';

const LISTEN = `
  const [, host, port] = process.argv;
  const server = require('node:net').createServer(socket => socket.pipe(socket));
  server.listen({ host, port: Number(port), backlog: 1 }, () => console.log(server.address().port));
`;

interface StalledListener {
  readonly host: string;
  readonly port: number;
  /** Takes connections from now on, those that wait included. */
  readonly release: () => void;
}

/**
 * Listens at an address of loopback, and answers nobody who connects: its queue is full, so that connecting hangs as it
 * does to a machine that is off, until it is released.
 */
export async function stalledListener(host: string, port = 0): Promise<StalledListener> {
  const child = spawn(process.execPath, ['-e', LISTEN, host, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const fillers: Socket[] = [];
  onTestFinished(() => {
    for (const socket of fillers) socket.destroy();
    child.kill('SIGKILL');
  });
  const listening = await portOf(child);
  child.kill('SIGSTOP');
  let isFull = false;
  await until(async () => {
    const socket = connect({ host, port: listening });
    fillers.push(socket.on('error', () => {}));
    isFull = !(await connectsWithin(socket, 200));
    return isFull;
  }, 'a full queue');
  return { host, port: listening, release: () => void child.kill('SIGCONT') };
}

async function portOf({ stdout }: ChildProcess): Promise<number> {
  if (stdout === null) throw new Error('the listener says nothing');
  const [line] = await once(stdout, 'data');
  return Number(String(line));
}

const connectsWithin = (socket: Socket, ms: number): Promise<boolean> =>
  new Promise(resolve => {
    const timer = setTimeout(() => resolve(false), ms);
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
