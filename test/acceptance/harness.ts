import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { launch, type Running, type Served, type ServeOptions, startServer } from './bin.ts';
import { type MetricsPage, openMetricsPage } from './metrics-page.ts';
import { openSink, type Sink } from './sink.ts';

export { ADMIN_PASSWORD, headgate } from './bin.ts';
export { logIn } from './client.ts';
export { until } from './until.ts';

/** Real windows and real processes take seconds. */
vi.setConfig({ testTimeout: 60_000 });

/** A configuration as an object; JSON is YAML, so files hold it as it is. */
export interface Files {
  readonly settings?: object;
  readonly notifications?: object;
}

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

export function writeConfiguration(folder: string, { settings, notifications }: Files): void {
  const write = (name: string, content: object | undefined): void => {
    if (content !== undefined) writeFileText(folder, name, JSON.stringify(content, null, 2));
  };
  write('headgate.yml', settings);
  write('notifications.yml', notifications);
}

export function writeFileText(folder: string, name: string, text: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
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

/** A no-data notification to one target. */
export const noData = (id: string, name: string, timeWindow: string, target = 'hook'): object => ({
  id,
  condition: 'no-data',
  targets: [target],
  conf: { name, timeWindow },
});
