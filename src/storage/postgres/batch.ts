import type { QueryConfig, QueryResult } from 'pg';
import { AppError } from '../../lib/errors.ts';
import type { Plan, Step } from '../operations/plan.ts';
import { type Lease, leaseLost } from '../stores/leases.ts';
import { coalesceChanges } from '../types.ts';
import type { WriterConnection } from './connections.ts';
import { isConflict, RowCountMismatch } from './errors.ts';
import { CHANNEL, toPayloads } from './notify.ts';
import type { PostgresSession } from './session.ts';
import { numberPlaceholders, SERVER_CLOCK, toStoredText } from './sql.ts';

const statements = new Map<string, { readonly name: string; readonly text: string }>();

/** The statement of a step, parsed by the server once for a session; plans use a closed list of texts. */
function statementOf({ sql, parameters }: Step): QueryConfig {
  const known = statements.get(sql) ?? { name: `step_${statements.size}`, text: numberPlaceholders(sql) };
  statements.set(sql, known);
  return { ...known, values: parameters.map(toStoredText) };
}

function unwrap<Result>(outcome: PromiseSettledResult<Result>): Result {
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

async function writeInTransaction({ link, name }: BatchWriter, plans: readonly Plan[]): Promise<void> {
  const session = await link.session();
  const opening = planOpening(plans, name);
  const steps = plans.flatMap(plan => plan.steps);
  try {
    const statements = [...opening.statements, ...steps.map(statementOf)];
    // The first failure says what is wrong: those that follow it only say that the transaction has failed.
    const outcomes = await Promise.allSettled(statements.map(statement => session.query(statement)));
    const id = opening.readTransactionId(outcomes.splice(0, opening.statements.length).map(unwrap));
    const written = outcomes.map(unwrap);
    steps.forEach(({ expect }, index) => {
      const changes = written[index]?.rowCount ?? 0;
      if (expect !== undefined && changes !== expect)
        throw new RowCountMismatch(`${changes} rows changed instead of ${expect}`);
    });
    await link.commit(session, id);
  } catch (error) {
    await rollBack(session);
    throw error;
  }
}

async function rollBack(session: PostgresSession): Promise<void> {
  // A session that fails at this is over, and the server rolls back by itself.
  if (!session.isBroken()) await session.query({ text: 'rollback' }).catch(() => {});
}

export interface BatchWriter {
  readonly link: WriterConnection;
  /** By which this process knows the notices of its own. */
  readonly name: string;
  readonly explain: (error: unknown) => AppError;
}

/**
 * Writes the plans in one transaction. Those whose lease is over are set aside; one that fails by what it holds is
 * halved until the bad plans stand alone; one that the server cannot take now is refused as a whole, because its halves
 * would only wait for the same.
 */
export async function runBatch(
  writer: BatchWriter,
  plans: readonly Plan[],
): Promise<readonly (AppError | null)[]> {
  if (plans.length === 0) return [];
  try {
    await writeInTransaction(writer, plans);
    return plans.map(() => null);
  } catch (error) {
    if (error instanceof LeasesLost) return runWithoutLost(writer, plans, error.leases);
    const [only] = plans;
    if (plans.length === 1 && only !== undefined && isConflict(error))
      return [new AppError('conflict', only.conflict())];
    const explained = writer.explain(error);
    if (plans.length === 1 || explained.code === 'unavailable') return plans.map(() => explained);
  }
  const half = plans.length >> 1;
  const first = await runBatch(writer, plans.slice(0, half));
  return [...first, ...(await runBatch(writer, plans.slice(half)))];
}

/** Writes what is not under a lost lease, in its order. */
async function runWithoutLost(
  writer: BatchWriter,
  plans: readonly Plan[],
  lost: ReadonlySet<Lease>,
): Promise<readonly (AppError | null)[]> {
  const refused = plans.map(({ lease }) =>
    lease !== undefined && lost.has(lease) ? leaseLost(lease) : null,
  );
  const left = plans.filter((_, index) => refused[index] === null);
  const outcomes = (await runBatch(writer, left)).values();
  return refused.map(refusal => refusal ?? outcomes.next().value ?? null);
}

/** The lease's row stays locked until the transaction ends, so the process that takes the lease over waits for that end. */
const SELECT_HELD_LEASE =
  `select true as in_force from leases where name = $1 and owner = $2 and epoch = $3 and until > ${SERVER_CLOCK} ` +
  'for share';
const NOTIFY = `select pg_notify('${CHANNEL}', $1)`;
/** With one lease and one notice, as nearly always, all of it costs no more statements than the id alone. */
const OPENING_STATEMENT: QueryConfig = {
  name: 'opening',
  text: `select txid_current()::text as id, (${SELECT_HELD_LEASE}) as in_force, pg_notify('${CHANNEL}', $4)`,
};

/** Some of the leases of a batch are over or another's. */
class LeasesLost extends Error {
  readonly leases: ReadonlySet<Lease>;

  constructor(leases: ReadonlySet<Lease>) {
    super('leases are over');
    this.leases = leases;
  }
}

/** The statements that open a batch, before it writes. */
interface BatchOpening {
  readonly statements: readonly QueryConfig[];
  /** The id of the transaction; throws `LeasesLost` unless every lease is held until its end. */
  readTransactionId(answers: readonly QueryResult[]): string;
}

const valuesOf = ({ name, owner, epoch }: Lease): unknown[] => [
  toStoredText(name),
  toStoredText(owner),
  epoch,
];

/** `session` is the name by which this process knows its own notices. */
function planOpening(plans: readonly Plan[], session: string): BatchOpening {
  const leases = [...new Set(plans.map(plan => plan.lease))].filter(lease => lease !== undefined);
  const payloads = toPayloads(session, coalesceChanges(plans.flatMap(plan => plan.changes)));
  const [lease, ...otherLeases] = leases;
  const [payload = '', ...otherPayloads] = payloads;
  const fence = lease === undefined ? [null, null, null] : valuesOf(lease);
  return {
    statements: [
      { text: 'begin' },
      { ...OPENING_STATEMENT, values: [...fence, payload] },
      ...otherLeases.map(other => ({ text: SELECT_HELD_LEASE, values: valuesOf(other) })),
      ...otherPayloads.map(other => ({ text: NOTIFY, values: [other] })),
    ],
    readTransactionId([, opened, ...fences]) {
      const answers = [opened, ...fences];
      const lost = leases.filter((_, index) => answers[index]?.rows[0]?.in_force !== true);
      if (lost.length > 0) throw new LeasesLost(new Set(lost));
      return opened?.rows[0]?.id;
    },
  };
}
