import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { launch, type Running, type Served, type ServeOptions, startServer } from './bin.ts';
import { type Files, writeConfiguration } from './files.ts';
import { type MetricsPage, openMetricsPage } from './metrics-page.ts';
import { openSink, type Sink } from './sink.ts';

export { until } from '../helpers/until.ts';
export { ADMIN_PASSWORD, headgate } from './bin.ts';
export { logIn } from './client.ts';
export { noData, writeConfiguration, writeFileText } from './files.ts';

/** The folders of one installation, below a temporary one. */
export interface Folders {
  readonly root: string;
  readonly config: string;
  readonly data: string;
}

/** A temporary folder that goes when the test has finished. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-acceptance-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Folders of one installation, with its configuration files when some are given. */
export function installation(files: Files = {}): Folders {
  const root = temporaryFolder();
  const folders = { root, config: join(root, 'config'), data: join(root, 'data') };
  writeConfiguration(folders.config, files);
  return folders;
}

/** A server that is killed, if it still runs, when the test has finished. */
export async function serve(options: ServeOptions): Promise<Served> {
  const server = await startServer(options);
  onTestFinished(() => server.kill());
  return server;
}

/** The same, without waiting for anything. */
export function serveAtOnce(options: ServeOptions): Running {
  const running = launch(options);
  onTestFinished(() => running.kill());
  return running;
}

export async function sink(authorization?: string): Promise<Sink> {
  const opened = await openSink(authorization);
  onTestFinished(() => opened.end());
  return opened;
}

export async function metricsPage(): Promise<MetricsPage> {
  const opened = await openMetricsPage();
  onTestFinished(() => opened.end());
  return opened;
}

/** Asks for a graceful stop and answers how the process ended. */
export async function stop(server: Running) {
  server.signal('SIGTERM');
  return await server.ended;
}

/** A webhook target of the given sink. */
export const webhook = (id: string, { url }: Sink): object => ({ id, type: 'webhook', url });
