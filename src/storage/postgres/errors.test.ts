import { DatabaseError } from 'pg';
import { describe, expect, it } from 'vitest';
import { breaksSession, explainPostgres, RowCountMismatch, UnsuitableServer } from './errors.ts';

const PLACE = "database 'gates' at db:5432";

function fromServer(code: string, severity = 'ERROR'): DatabaseError {
  const error = new DatabaseError('detail', 0, 'error');
  error.code = code;
  error.severity = severity;
  return error;
}

const fromNode = (code: string): Error => Object.assign(new Error('detail'), { code });

it.each<[string, Error, string, RegExp]>([
  ['28P01', fromServer('28P01', 'FATAL'), 'unavailable', /refuses user 'gate' \(detail\).*pg_hba\.conf/],
  ['3D000', fromServer('3D000', 'FATAL'), 'unavailable', /does not exist; create it with createdb/],
  ['42501', fromServer('42501'), 'unavailable', /make that user the owner of the database/],
  ['53100', fromServer('53100'), 'unavailable', /disk is full; free some space/],
  ['53200', fromServer('53200'), 'unavailable', /out of memory/],
  ['53300', fromServer('53300', 'FATAL'), 'unavailable', /no connection left.*max_connections/],
  ['25006', fromServer('25006'), 'unavailable', /read-only; let storage\.url lead to the primary/],
  ['25P02', fromServer('25P02'), 'unavailable', /rolled it back; try again/],
  ['57P01', fromServer('57P01', 'FATAL'), 'unavailable', /ended the connection/],
  ['57P03', fromServer('57P03', 'FATAL'), 'unavailable', /starting or stopping/],
  ['57014', fromServer('57014'), 'unavailable', /took too long.*pg_stat_activity/],
  ['55P03', fromServer('55P03'), 'unavailable', /took too long.*holder of locks/],
  ['40P01', fromServer('40P01'), 'unavailable', /collided with another change/],
  ['58030', fromServer('58030'), 'unavailable', /log of the server/],
  ['ECONNREFUSED', fromNode('ECONNREFUSED'), 'unavailable', /cannot be reached \(detail\); start the server/],
  ['SELF_SIGNED_CERT_IN_CHAIN', fromNode('SELF_SIGNED_CERT_IN_CHAIN'), 'unavailable', /sslrootcert/],
  [
    'a lost connection',
    new Error('Connection terminated unexpectedly'),
    'unavailable',
    /lost the connection/,
  ],
  ['silence', new Error('Query read timeout'), 'unavailable', /does not answer in time/],
  ['no password', new Error('SASL: client password must be a string'), 'unavailable', /asks user 'gate'/],
  ['no TLS', new Error('The server does not support SSL connections'), 'unavailable', /correct sslmode/],
  ['an unfit session', new UnsuitableServer('is too old'), 'unavailable', /'gates' at db:5432 is too old$/],
  ['23505', fromServer('23505'), 'conflict', /refused a change: detail/],
  ['another number of rows', new RowCountMismatch('0 rows'), 'conflict', /0 rows/],
  ['23502', fromServer('23502'), 'internal', /refused a statement: detail/],
])('explains %s with the place and the remedy', (_what, error, code, text) => {
  const explained = explainPostgres(error, PLACE, 'gate');
  expect(explained.code).toBe(code);
  expect(explained.message).toMatch(text);
  expect(explained.message.startsWith(PLACE)).toBe(true);
  expect(explained.retryAfterSeconds).toBe(code === 'unavailable' ? 10 : undefined);
});

it('says why none of a name’s addresses could be reached', () => {
  const error = Object.assign(new AggregateError([new Error('refused on ::1')]), { code: 'ECONNREFUSED' });
  expect(explainPostgres(error, PLACE, 'gate').message).toContain('(refused on ::1)');
});

describe('a session', () => {
  it.each([
    ['the network', fromNode('ECONNRESET')],
    ['a last word', fromServer('57P01', 'FATAL')],
    ['a server that became read-only', fromServer('25006')],
  ])('is over after %s', (_what, error) => {
    expect(breaksSession(error)).toBe(true);
  });

  it.each([
    ['a unique violation', fromServer('23505')],
    ['a statement that took too long', fromServer('57014')],
    ['an unexpected number of rows', new RowCountMismatch('0 rows')],
  ])('goes on after %s', (_what, error) => {
    expect(breaksSession(error)).toBe(false);
  });
});
