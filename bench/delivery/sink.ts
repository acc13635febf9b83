import { fork, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { bundle } from './bundle.ts';
import {
  type Behaviour,
  type Command,
  counted,
  type Report,
  reply,
  report,
  started,
} from './sink-protocol.ts';
import type { Hook } from './system.ts';
import { temporaryFolder } from './temporary.ts';

const LOOK_MS = 25;

/** The receiving process, as the measuring one sees it. */
export interface Sink {
  /** A receiver that nobody has seen yet, on another port than the one before. */
  hook(name: string): Hook;
  /** The same over TLS, with a certificate that nobody trusts. There is one. */
  readonly untrusted: Hook;
  behave(hook: Hook, behaviour: Behaviour): Promise<void>;
  report(hook: Hook): Promise<Report>;
  /** As if nothing had come to it yet. */
  forget(hook: Hook): Promise<void>;
  /** Waits until so many events arrived; false when none came for so long. */
  arrived(hook: Hook, count: number, patienceMs: number): Promise<boolean>;
  end(): void;
}

function makeCertificate(folder: string): readonly [string, string] {
  const key = join(folder, 'key.pem');
  const certificate = join(folder, 'certificate.pem');
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1'];
  const made = spawnSync('openssl', [...args, '-keyout', key, '-out', certificate], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`openssl made no certificate: ${made.stderr}`);
  return [key, certificate];
}

export async function openSink(): Promise<Sink> {
  const folder = temporaryFolder();
  const child = fork(
    await bundle(join(import.meta.dirname, 'sink-process.ts'), folder),
    makeCertificate(folder),
    { execArgv: [] },
  );
  process.once('exit', () => child.kill('SIGKILL'));
  const waiting = new Map<number, (value: unknown) => void>();
  let lastId = 0;
  let fresh = 0;
  child.on('message', message => {
    const { id, value } = reply.parse(message);
    waiting.get(id)?.(value);
    waiting.delete(id);
  });
  const origins = started.parse(await new Promise(resolve => waiting.set(0, resolve)));

  function ask(command: Command): Promise<unknown> {
    const id = ++lastId;
    return new Promise(resolve => {
      waiting.set(id, resolve);
      child.send({ id, command });
    });
  }

  const nameOf = ({ url }: Hook): string => new URL(url).pathname.slice(1);

  async function arrived(hook: Hook, count: number, patienceMs: number): Promise<boolean> {
    let seen = 0;
    let movedAt = performance.now();
    while (seen < count && performance.now() - movedAt < patienceMs) {
      await new Promise(resolve => setTimeout(resolve, LOOK_MS));
      const { unique } = counted.parse(await ask({ kind: 'count', hook: nameOf(hook) }));
      if (unique > seen) movedAt = performance.now();
      seen = unique;
    }
    return seen >= count;
  }

  return {
    hook(name) {
      fresh += 1;
      return { name, url: `${origins.http[fresh % origins.http.length]}/${name}-${fresh}` };
    },
    untrusted: { name: 'tls', url: `${origins.https}/tls` },
    async behave(hook, behaviour) {
      await ask({ kind: 'behave', hook: nameOf(hook), behaviour });
    },
    async forget(hook) {
      await ask({ kind: 'forget', hook: nameOf(hook) });
    },
    report: async hook => report.parse(await ask({ kind: 'report', hook: nameOf(hook) })),
    arrived,
    end: () => void child.kill('SIGKILL'),
  };
}
