import type { QueryConfig } from 'pg';
import { AppError } from '../lib/errors.ts';
import { leaseLost } from './lease-lost.ts';
import type { Plan, Step } from './operations.ts';
import { isConflict, NotAsExpected } from './postgres-errors.ts';
import type { Link } from './postgres-link.ts';
import { LeasesLost, openingOf } from './postgres-opening.ts';
import type { Session } from './postgres-session.ts';
import { asStored, numbered } from './postgres-texts.ts';
import type { Lease } from './storage.ts';

/** Assigns the transaction its id at once; nothing but writes follows. */
export const TRANSACTION_ID: QueryConfig = {
  name: 'transaction_id',
  text: 'select txid_current()::text as id',
};

const statements = new Map<string, { readonly name: string; readonly text: string }>();

/** The statement of a step, parsed by the server once for a session; plans use a closed list of texts. */
function statementOf({ sql, parameters }: Step): QueryConfig {
  const known = statements.get(sql) ?? { name: `step_${statements.size}`, text: numbered(sql) };
  statements.set(sql, known);
  return { ...known, values: parameters.map(asStored) };
}

function answerOf<Result>(outcome: PromiseSettledResult<Result>): Result {
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

async function writeTogether({ link, name }: Writing, plans: readonly Plan[]): Promise<void> {
  const session = await link.session();
  const opening = openingOf(plans, name);
  const steps = plans.flatMap(plan => plan.steps);
  try {
    const statements = [...opening.statements, ...steps.map(statementOf)];
    // The first failure says what is wrong: those that follow it only say that the transaction has failed.
    const outcomes = await Promise.allSettled(statements.map(statement => session.query(statement)));
    const id = opening.idIn(outcomes.splice(0, opening.statements.length).map(answerOf));
    const written = outcomes.map(answerOf);
    steps.forEach(({ expect }, index) => {
      const changes = written[index]?.rowCount ?? 0;
      if (expect !== undefined && changes !== expect)
        throw new NotAsExpected(`${changes} rows changed instead of ${expect}`);
    });
    await link.commit(session, id);
  } catch (error) {
    await rollBack(session);
    throw error;
  }
}

async function rollBack(session: Session): Promise<void> {
  // A session that fails at this is over, and the server rolls back by itself.
  if (!session.isOver()) await session.query({ text: 'rollback' }).catch(() => {});
}

export interface Writing {
  readonly link: Link;
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
  writing: Writing,
  plans: readonly Plan[],
): Promise<readonly (AppError | null)[]> {
  if (plans.length === 0) return [];
  try {
    await writeTogether(writing, plans);
    return plans.map(() => null);
  } catch (error) {
    if (error instanceof LeasesLost) return runWithout(writing, plans, error.leases);
    const [only] = plans;
    if (plans.length === 1 && only !== undefined && isConflict(error))
      return [new AppError('conflict', only.conflict())];
    const explained = writing.explain(error);
    if (plans.length === 1 || explained.code === 'unavailable') return plans.map(() => explained);
  }
  const half = plans.length >> 1;
  const first = await runBatch(writing, plans.slice(0, half));
  return [...first, ...(await runBatch(writing, plans.slice(half)))];
}

/** Writes what is not under a lost lease, in its order. */
async function runWithout(
  writing: Writing,
  plans: readonly Plan[],
  lost: ReadonlySet<Lease>,
): Promise<readonly (AppError | null)[]> {
  const refused = plans.map(({ lease }) =>
    lease !== undefined && lost.has(lease) ? leaseLost(lease) : null,
  );
  const left = plans.filter((_, index) => refused[index] === null);
  const outcomes = (await runBatch(writing, left)).values();
  return refused.map(refusal => refusal ?? outcomes.next().value ?? null);
}
