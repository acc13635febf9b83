import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A configuration as objects; JSON is YAML, so files hold it as it is. */
export interface Files {
  readonly settings?: object;
  readonly notifications?: object;
}

export function writeConfiguration(folder: string, { settings, notifications }: Files): void {
  const write = (name: string, content: object | undefined): void => {
    if (content !== undefined) writeFileText(folder, name, JSON.stringify(content, null, 2));
  };
  write('headgate.yml', settings);
  write('notifications.yml', notifications);
}

/** Writes a file, making its folder, and answers its path. */
export function writeFileText(folder: string, name: string, text: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** A no-data notification to one target. */
export const noData = (id: string, name: string, timeWindow: string, target = 'hook'): object => ({
  id,
  condition: 'no-data',
  targets: [target],
  conf: { name, timeWindow },
});
