import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ConfigChange, ConfigEdit } from '../../src/config/change.ts';
import { type CheckThread, createCheckThread } from '../../src/config/check-thread.ts';
import {
  type ConfigurationHolder,
  createConfigurationHolder,
  type HolderOptions,
} from '../../src/config/holder.ts';
import type { Sources } from '../../src/config/read/configuration.ts';
import { filesSource } from '../../src/config/source/files.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { AppError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { testClock } from './clock.ts';
import { configFolder } from './config-folder.ts';

/** A file with one target, which changes are made to. */
export const FILE = `# who is told
targets:
  - id: hook
    type: webhook
    url: http://h.example/  # theirs
notifications: []
`;

export const HOOK = { id: 'hook', type: 'webhook', url: 'http://h.example/' };

export const change = (...edits: readonly ConfigEdit[]): ConfigChange => ({
  author: 'alice',
  source: 'api',
  edits,
});

export const target = (value: { readonly id: string; readonly [key: string]: unknown }): ConfigEdit => ({
  section: 'targets',
  id: value.id,
  value,
});

export const description = (text: string): ConfigChange => change(target({ ...HOOK, description: text }));

/** A loaded configuration and its files. */
export interface Held {
  readonly holder: ConfigurationHolder;
  readonly folder: string;
  read(name?: string): string;
  write(text: string, name?: string): void;
}

interface HoldOptions
  extends Omit<Partial<HolderOptions>, 'source' | 'clock'>,
    Partial<Pick<Sources, 'environment' | 'flags' | 'secretOf'>> {
  readonly clock?: Clock;
}

/** The thread for large configurations, ended with the test. */
export function checkThread(clock: Clock): CheckThread {
  const thread = createCheckThread(clock);
  onTestFinished(thread.stop);
  return thread;
}

export const hold = (
  files: Readonly<Record<string, string>> = { 'notifications.yml': FILE },
  extra: HoldOptions = {},
): Held => inFolder(configFolder(files), extra);

export function inFolder(
  folder: string,
  { environment = {}, flags = {}, secretOf, clock = testClock(), ...extra }: HoldOptions = {},
): Held {
  const source = filesSource({ folder, environment, flags, secretOf, clock });
  const holder = createConfigurationHolder({
    source,
    thread: checkThread(clock),
    clock,
    logger: silentLogger,
    ...extra,
  });
  onTestFinished(holder.stop);
  holder.load();
  return {
    holder,
    folder,
    read: (name = 'notifications.yml') => readFileSync(join(folder, name), 'utf8'),
    write: (text, name = 'notifications.yml') => writeFileSync(join(folder, name), text),
  };
}

/** What the change was refused with; throws when it was not. */
export async function refusalOf(saving: Promise<unknown>): Promise<AppError> {
  const error = await saving.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof AppError) return error;
  throw new Error(`expected a refusal, got ${String(error)}`);
}
