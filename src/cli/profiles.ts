import { mkdir, readFile, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { AppError, codeOf } from '../lib/errors.ts';
import { stagePrivateFile, syncFolderOf } from '../lib/private-file.ts';
import type { LoginProfiles } from './profile-schema.ts';

export const PROFILE_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Profiles and their tokens, readable by the owner only: XDG's folder of configuration, or ~/.config. */
export const profilesFile = (environment: Readonly<Record<string, string | undefined>>): string =>
  join(environment.XDG_CONFIG_HOME || join(homedir(), '.config'), 'headgate', 'profiles.json');

/** Empty without a file. Throws `invalid-request` for a file that is not ours. */
export async function readProfiles(path: string): Promise<LoginProfiles> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { current: 'default', profiles: {} };
    throw error;
  }
  const { profilesSchema } = await import('./profile-schema.ts');
  const read = profilesSchema.safeParse(parsed(text));
  if (read.success) return read.data;
  throw new AppError('invalid-request', `${path} holds no profiles of headgate; remove it and log in again`);
}

export async function writeProfiles(path: string, profiles: LoginProfiles): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const staged = await stagePrivateFile(path, `${JSON.stringify(profiles, null, 2)}\n`);
  await rename(staged, path);
  await syncFolderOf(path);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
