import { AppError } from '../../lib/errors.ts';
import { ALREADY_IN_USE, ROW_COUNT_MISMATCH, type WorkerFailure } from './protocol.ts';

const RETRY = { retryAfterSeconds: 10 };
const CONFLICTS = new Set([ROW_COUNT_MISMATCH, 'SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY']);

export const isConflict = (failure: WorkerFailure): boolean => CONFLICTS.has(failure.code);

/** Explanations with the remedy. Each pattern is matched from the start of the code. */
const EXPLANATIONS: readonly (readonly [RegExp, (file: string, failure: WorkerFailure) => AppError])[] = [
  [
    /^(SQLITE_FULL|ENOSPC|EDQUOT)/,
    file =>
      new AppError('unavailable', `the disk that holds '${file}' is full; free some space there`, RETRY),
  ],
  [
    /^(SQLITE_(READONLY|PERM|CANTOPEN|AUTH)|EROFS|EACCES|EPERM|ENOENT|ENOTDIR|EISDIR)/,
    (file, { message }) =>
      new AppError(
        'unavailable',
        `'${file}' cannot be created or written (${message}); let the user that runs headgate write to this file ` +
          'and its folder, or choose another data directory with --data',
        RETRY,
      ),
  ],
  [
    /^(SQLITE_IOERR|EIO)/,
    (file, { code }) =>
      new AppError(
        'unavailable',
        `reading or writing '${file}' failed (${code}); check the disk, its free space and the system's log`,
        RETRY,
      ),
  ],
  [
    /^SQLITE_(BUSY|LOCKED)/,
    file => new AppError('unavailable', `another program holds '${file}'; end that program`, RETRY),
  ],
  [
    /^SQLITE_(NOTADB|CORRUPT)/,
    file =>
      new AppError(
        'unavailable',
        `'${file}' is damaged or not a SQLite database; move it away and restore a backup, or start with an empty ` +
          'data directory',
        RETRY,
      ),
  ],
  [
    /^SQLITE_ABORT/,
    file => new AppError('unavailable', `a change of '${file}' was rolled back midway; try again`, RETRY),
  ],
  [/^(SQLITE_NOMEM|ENOMEM|EMFILE|ENFILE)/, (file, { code }) => outOfResources(file, code)],
];

function outOfResources(file: string, code: string): AppError {
  return new AppError(
    'unavailable',
    `'${file}' cannot be used because the system has run out of memory or open files (${code})`,
    RETRY,
  );
}

/** Turns a worker's failure into the error that leaves the room. `file` is the database, `folder` the data directory. */
export function explainFailure(failure: WorkerFailure, file: string, folder: string): AppError {
  if (failure.code === ALREADY_IN_USE) {
    return new AppError(
      'conflict',
      `the data directory '${folder}' is already in use by another headgate process; end that one or choose another ` +
        'directory with --data',
    );
  }
  if (isConflict(failure))
    return new AppError('conflict', `the database refused a change: ${failure.message}`);
  const known = EXPLANATIONS.find(([code]) => code.test(failure.code));
  if (known !== undefined) return known[1](file, failure);
  return new AppError('internal', `'${file}' refused a statement: ${failure.message}`);
}
