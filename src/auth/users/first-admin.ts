import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { AppError, codeOf } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import { stagePrivateFile, syncFolderOf } from '../../lib/private-file.ts';
import { Secret } from '../../lib/secret.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Audit } from '../audit.ts';
import { isShortPassword, SHORTEST_PASSWORD } from './password-rules.ts';
import { generatePassword, isPasswordLength, type Passwords } from './passwords.ts';
import { newUserRow } from './user.ts';

const USERNAME = 'admin';
const FILE = 'initial-admin-password';
export interface FirstAdminRequest {
  /** The value of HEADGATE_ADMIN_PASSWORD; empty counts as not set. */
  readonly password: Secret | undefined;
  readonly dataFolder: string;
}

/** To be shown once on a terminal, never logged. The file holds the same password. */
export interface GeneratedPassword {
  readonly username: string;
  readonly password: Secret;
  readonly file: string;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'users' | 'transaction'>;
  readonly passwords: Passwords;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly audit: Pick<Audit, 'record'>;
  readonly logger: Logger;
}

/**
 * Adds the user `admin` while no user exists. Returns the password if it had to generate one, which must then be
 * changed at the first login. Throws `invalid-request` for a given password over 256 characters.
 */
export async function ensureFirstAdmin(
  dependencies: Dependencies,
  request: FirstAdminRequest,
): Promise<GeneratedPassword | undefined> {
  if ((await dependencies.storage.users.count()) > 0) return undefined;
  const given = request.password?.reveal() ?? '';
  if (given === '') return generateAdmin(dependencies, request.dataFolder);
  await addGivenAdmin(dependencies, given);
  return undefined;
}

async function addGivenAdmin(dependencies: Dependencies, password: string): Promise<void> {
  if (!isPasswordLength(password))
    throw new AppError(
      'invalid-request',
      'HEADGATE_ADMIN_PASSWORD is over 256 characters; choose a shorter one',
    );
  const { logger } = dependencies;
  if (!(await addAdmin(dependencies, password, { mustChange: false }))) return;
  logger.info({ user: USERNAME }, 'first admin created');
  if (isShortPassword(password))
    logger.warn({ user: USERNAME, shortestStrong: SHORTEST_PASSWORD }, 'the first admin has a weak password');
}

async function generateAdmin(
  dependencies: Dependencies,
  dataFolder: string,
): Promise<GeneratedPassword | undefined> {
  const password = generatePassword();
  const file = join(dataFolder, FILE);
  const staged = await stagePrivateFile(file, `${password}\n`).catch((cause: unknown) => {
    const message = `The first admin's password cannot be written to ${file}: ${codeOf(cause)}`;
    throw new AppError('internal', message, { cause });
  });
  // The file takes its place before the user does: a crash in between leaves a file that the next start replaces,
  // never an admin whose password nobody knows.
  const place = async (): Promise<void> => {
    await rename(staged, file);
    await syncFolderOf(file);
  };
  try {
    if (!(await addAdmin(dependencies, password, { mustChange: true, place }))) return undefined;
  } finally {
    await rm(staged, { force: true });
  }
  dependencies.logger.info({ user: USERNAME, passwordFile: file }, 'first admin created');
  return { username: USERNAME, password: new Secret(password), file };
}

/** Counts again inside the transaction: of two starts at the same moment one makes the admin. */
async function addAdmin(
  { storage, passwords, clock, ids, audit }: Dependencies,
  password: string,
  { mustChange, place }: { mustChange: boolean; place?: () => Promise<void> },
): Promise<boolean> {
  const hash = await passwords.hash(password);
  const isMade = await storage.transaction(async tx => {
    const version = await tx.incrementUserChanges();
    if ((await tx.countUsers()) > 0) return false;
    await tx.addUser(
      newUserRow({
        id: ids.next(),
        username: USERNAME,
        password: hash,
        initial_password: mustChange ? hash : null,
        force_password_change: mustChange ? 1 : 0,
        role: 'admin',
        created_at: clock.now(),
        version,
      }),
    );
    await place?.();
    return true;
  });
  const entry = { actor: 'headgate', action: 'users.create', target: USERNAME, address: 'local' };
  if (isMade) await audit.record({ ...entry, reason: 'first admin' });
  return isMade;
}
