import { DatabaseError } from 'pg';
import { AppError, codeOf, reasonOf } from '../../lib/errors.ts';

const RETRY = { retryAfterSeconds: 10 };

/** A step changed another number of rows than its operation expects. */
export class RowCountMismatch extends Error {}

/** Why a session must not be used, in words that follow the name of the database. */
export class UnsuitableServer extends Error {}

const sqlState = (error: unknown): string => (error instanceof DatabaseError ? (error.code ?? '') : '');

export const isConflict = (error: unknown): boolean =>
  error instanceof RowCountMismatch || sqlState(error) === '23505';

/**
 * True when the connection is of no more use: the network's errors carry no SQLSTATE, the server's last words are FATAL,
 * and a server that became read-only (25006) has handed its work to another.
 */
export function breaksSession(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return !(error instanceof RowCountMismatch);
  return error.severity === 'FATAL' || error.severity === 'PANIC' || error.code === '25006';
}

/**
 * Explanations with the remedy, by SQLSTATE (PostgreSQL manual, appendix A) or Node's code; matched from the start.
 * `$user` and `$reason` are filled in; no reason of these holds a password.
 */
const EXPLANATIONS: readonly (readonly [RegExp, string])[] = [
  [
    /^28/,
    "refuses user '$user' ($reason); check user and password in storage.url and the server's pg_hba.conf",
  ],
  [/^3D000/, 'does not exist; create it with createdb, or correct storage.url'],
  [
    /^(42501|3F000)/,
    "does not let user '$user' work in it ($reason); make that user the owner of the database, or grant it CREATE on " +
      'its schema',
  ],
  [/^53100/, "cannot be written: the server's disk is full; free some space there"],
  [
    /^(53300|53400)/,
    'has no connection left ($reason); raise max_connections of the server or end other programs’ connections',
  ],
  [/^53/, 'is out of memory or other resources ($reason); look into the log of the server'],
  [
    /^25006/,
    'is read-only; let storage.url lead to the primary server, and set default_transaction_read_only to off',
  ],
  [/^57P03/, 'is starting or stopping ($reason); it is tried again by itself'],
  [/^(57P0|08|25P03)/, 'has ended the connection ($reason); it is tried again by itself'],
  [
    /^(57014|55P03)/,
    'took too long ($reason); look for the holder of locks in pg_stat_activity, and for a slow disk',
  ],
  [/^40/, 'collided with another change ($reason); try again'],
  [/^25P02/, 'has given a change up midway and rolled it back; try again'],
  [/^(58|XX|F0)/, 'has failed ($reason); look into the log of the server'],
  [
    /^(ECONNREFUSED|ENOENT|ENOTFOUND|EAI_|EHOST|ENET|ETIMEDOUT|EACCES)/,
    'cannot be reached ($reason); start the server, or correct host and port in storage.url',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME/,
    'shows a certificate for another host ($reason); correct the host in storage.url, or write sslmode=verify-ca where ' +
      'the authority of sslrootcert signs for this database alone',
  ],
  [
    /^(ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME)/,
    "shows a certificate that is not trusted ($reason); name the authority's file by sslrootcert in storage.url",
  ],
];
/** Errors of `pg` itself have no code. */
const BY_TEXT: readonly (readonly [RegExp, string])[] = [
  [
    /SASL|password/i,
    "asks user '$user' for a password, which storage.url does not hold as it should ($reason)",
  ],
  [
    /SSL/,
    'does not agree about encryption ($reason); correct sslmode in storage.url, or let the server speak TLS',
  ],
  [
    /time/,
    'does not answer in time ($reason); check the server, the network and host and port in storage.url',
  ],
];
const LOST = 'has lost the connection ($reason); it is tried again by itself';

/** Turns what `pg` throws into the error that leaves the room. `label` names the database, its host and its port. */
export function explainPostgres(error: unknown, label: string, user: string): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof UnsuitableServer)
    return new AppError('unavailable', `${label} ${error.message}`, RETRY);
  if (isConflict(error)) return new AppError('conflict', `${label} refused a change: ${reasonOf(error)}`);
  const text = remedyFor(error);
  if (text === undefined) return new AppError('internal', `${label} refused a statement: ${reasonOf(error)}`);
  const filled = text.replace('$user', () => user).replace('$reason', () => reasonFor(error));
  return new AppError('unavailable', `${label} ${filled}`, RETRY);
}

function remedyFor(error: unknown): string | undefined {
  const code = codeOf(error);
  const known = EXPLANATIONS.find(([pattern]) => pattern.test(code))?.[1];
  if (known !== undefined || error instanceof DatabaseError) return known;
  return BY_TEXT.find(([pattern]) => pattern.test(reasonOf(error)))?.[1] ?? LOST;
}

/** Node tries every address of a name and gathers the failures in an error without a text. */
function reasonFor(error: unknown): string {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  return reasonOf(first) || codeOf(error) || 'no reason was given';
}
