/** What a server says of itself and of one session. */
export interface SessionFacts {
  /** As in `server_version_num`: 150020 is 15.20. */
  readonly version: number;
  readonly synchronous_commit: string;
  readonly encoding: string;
  readonly recovering: boolean;
  readonly read_only: string;
}

/** The oldest that is tried with: `xid8`-free `txid_status` and everything the migrations use. */
const OLDEST = 12;

/**
 * Why a session must not be written through, with the remedy, or nothing when it may. Of the values of
 * `synchronous_commit` all but `off` wait for this server's own disk (PostgreSQL manual, 20.5.1).
 */
export function sessionProblem(facts: SessionFacts): string | undefined {
  const { version, synchronous_commit: synchronous, encoding } = facts;
  if (version < OLDEST * 10_000) {
    return `is of PostgreSQL ${Math.floor(version / 10_000)}, which is too old; upgrade the server to ${OLDEST} or later`;
  }
  if (facts.recovering || facts.read_only === 'on') {
    return 'is read-only; let storage.url lead to the primary server, and set default_transaction_read_only to off';
  }
  if (encoding !== 'UTF8') {
    return `is encoded in ${encoding}, which cannot hold every text; create it with createdb --encoding=UTF8 --template=template0`;
  }
  if (synchronous === 'off') {
    return 'would lose writes: synchronous_commit is off; set it to on for the server, the database and the user';
  }
  return undefined;
}
