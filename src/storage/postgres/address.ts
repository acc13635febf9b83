import { Client, type ClientConfig } from 'pg';
import { sslModeOf, sslModeProblem } from '../../lib/database-tls.ts';
import { AppError, reasonOf } from '../../lib/errors.ts';

/** A server's answer and a lost network both end within this; the server's own limit comes first. */
const QUERY_TIMEOUT_MS = 40_000;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_AFTER_MS = 10_000;

/** Where a database is. Its `config` holds the password; `place` is fit for messages. */
export interface PostgresAddress {
  readonly config: ClientConfig;
  /** `database 'headgate' at db.example:5432`. */
  readonly label: string;
  readonly user: string;
}

/**
 * Reads `postgres://user:password@host:port/database`; whatever is missing follows PGHOST and its like. `sslmode` means
 * what it means to libpq. Throws `invalid-request`, showing nothing of the URL.
 */
export function postgresAddress(url: string): PostgresAddress {
  const config: ClientConfig = {
    connectionString: withLevelsOfLibpq(url),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    fallback_application_name: 'headgate',
  };
  try {
    const { host, port, database, user } = new Client(config);
    return { config, label: `database '${database}' at ${host}:${port}`, user: user ?? '' };
  } catch (error) {
    // The error itself may carry the address, password included.
    throw new AppError(
      'invalid-request',
      `storage.url cannot be read (${reasonOf(error)}); write postgres://user:password@host:5432/database, with ` +
        'other characters than letters and digits percent-encoded',
    );
  }
}

/**
 * By itself the client takes every level for `verify-full`, and warns of it on standard error. Throws `invalid-request`
 * for a level that is refused.
 */
function withLevelsOfLibpq(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const problem = parsed === null ? undefined : sslModeProblem(parsed);
  if (problem !== undefined) throw new AppError('invalid-request', `storage.url ${problem}`);
  return parsed === null || sslModeOf(parsed) === undefined ? url : url.replace('?', '?uselibpqcompat=true&');
}
