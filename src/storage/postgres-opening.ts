import type { QueryConfig, QueryResult } from 'pg';
import { coalesce } from './facts.ts';
import type { Plan } from './operations.ts';
import { CHANNEL, noticesOf } from './postgres-notices.ts';
import { asStored, SERVER_CLOCK } from './postgres-texts.ts';
import type { Lease } from './storage.ts';

/** The lease's row stays locked until the transaction ends, so whoever takes the lease over waits for that end. */
const IN_FORCE =
  `select true as in_force from leases where name = $1 and owner = $2 and epoch = $3 and until > ${SERVER_CLOCK} ` +
  'for share';
const NOTIFY = `select pg_notify('${CHANNEL}', $1)`;
/** With one lease and one notice, as nearly always, all of it costs no more statements than the id alone. */
const OPENING: QueryConfig = {
  name: 'opening',
  text: `select txid_current()::text as id, (${IN_FORCE}) as in_force, pg_notify('${CHANNEL}', $4)`,
};

/** Some of the leases of a batch are over or another's. */
export class LeasesLost extends Error {
  readonly leases: ReadonlySet<Lease>;

  constructor(leases: ReadonlySet<Lease>) {
    super('leases are over');
    this.leases = leases;
  }
}

/** What is asked in a batch before it writes. */
export interface Opening {
  readonly statements: readonly QueryConfig[];
  /** The id of the transaction; throws `LeasesLost` unless every lease is in force until its end. */
  idIn(answers: readonly QueryResult[]): string;
}

const valuesOf = ({ name, owner, epoch }: Lease): unknown[] => [asStored(name), asStored(owner), epoch];

/** `session` is the name by which this process knows its own notices. */
export function openingOf(plans: readonly Plan[], session: string): Opening {
  const leases = [...new Set(plans.map(plan => plan.lease))].filter(lease => lease !== undefined);
  const notices = noticesOf(session, coalesce(plans.flatMap(plan => plan.facts)));
  const [lease, ...otherLeases] = leases;
  const [notice = '', ...otherNotices] = notices;
  const fence = lease === undefined ? [null, null, null] : valuesOf(lease);
  return {
    statements: [
      { text: 'begin' },
      { ...OPENING, values: [...fence, notice] },
      ...otherLeases.map(other => ({ text: IN_FORCE, values: valuesOf(other) })),
      ...otherNotices.map(other => ({ text: NOTIFY, values: [other] })),
    ],
    idIn([, opened, ...fences]) {
      const answers = [opened, ...fences];
      const lost = leases.filter((_, index) => answers[index]?.rows[0]?.in_force !== true);
      if (lost.length > 0) throw new LeasesLost(new Set(lost));
      return opened?.rows[0]?.id;
    },
  };
}
