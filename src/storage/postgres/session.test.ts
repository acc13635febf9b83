import { expect, it } from 'vitest';
import { type ServerSettings, sessionProblem } from './session.ts';

const FIT: ServerSettings = {
  version: 120_000,
  synchronous_commit: 'on',
  encoding: 'UTF8',
  recovering: false,
  read_only: 'off',
};

it.each(['on', 'remote_apply', 'remote_write', 'local'])(
  'accepts a session whose commits wait for the disk: %s',
  synchronous_commit => {
    expect(sessionProblem({ ...FIT, synchronous_commit })).toBeUndefined();
  },
);

it.each<[string, Partial<ServerSettings>, RegExp]>([
  ['a server that is too old', { version: 110_022 }, /PostgreSQL 11.*too old; upgrade the server to 12/],
  ['a server of another numbering', { version: 90_624 }, /PostgreSQL 9, which is too old/],
  ['commits that do not wait', { synchronous_commit: 'off' }, /synchronous_commit is off; set it to on/],
  ['a standby', { recovering: true }, /read-only; let storage\.url lead to the primary/],
  ['transactions that only read', { read_only: 'on' }, /default_transaction_read_only to off/],
  ['an encoding that lacks characters', { encoding: 'LATIN1' }, /LATIN1.*--encoding=UTF8/],
])('refuses %s, with the remedy', (_what, facts, text) => {
  expect(sessionProblem({ ...FIT, ...facts })).toMatch(text);
});
