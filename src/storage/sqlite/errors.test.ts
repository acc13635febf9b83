import { expect, it } from 'vitest';
import { explainFailure } from './errors.ts';

const FILE = '/data/headgate.db';

it.each([
  ['SQLITE_FULL', 'unavailable', /'\/data\/headgate\.db' is full; free some space/],
  ['ENOSPC', 'unavailable', /full/],
  ['SQLITE_READONLY_DIRECTORY', 'unavailable', /cannot be created or written.*--data/],
  ['SQLITE_CANTOPEN', 'unavailable', /cannot be created or written/],
  ['EACCES', 'unavailable', /let the user that runs headgate write/],
  ['SQLITE_IOERR_FSYNC', 'unavailable', /SQLITE_IOERR_FSYNC.*check the disk/],
  ['SQLITE_BUSY_SNAPSHOT', 'unavailable', /another program holds/],
  ['SQLITE_CORRUPT', 'unavailable', /restore a backup/],
  ['SQLITE_NOTADB', 'unavailable', /not a SQLite database/],
  ['SQLITE_ABORT', 'unavailable', /rolled back midway/],
  ['SQLITE_NOMEM', 'unavailable', /memory/],
  ['SQLITE_CONSTRAINT_UNIQUE', 'conflict', /detail/],
  ['SQLITE_CONSTRAINT_PRIMARYKEY', 'conflict', /detail/],
  ['NOT_AS_EXPECTED', 'conflict', /detail/],
  ['ALREADY_IN_USE', 'conflict', /'\/data' is already in use by another headgate process.*--data/],
  ['SQLITE_CONSTRAINT_NOTNULL', 'internal', /detail/],
  ['', 'internal', /detail/],
])('explains %s as %s with the place and the remedy', (code, kind, text) => {
  const error = explainFailure({ code, message: 'detail' }, FILE, '/data');
  expect(error.code).toBe(kind);
  expect(error.message).toMatch(text);
  expect(error.retryAfterSeconds).toBe(kind === 'unavailable' ? 10 : undefined);
});
