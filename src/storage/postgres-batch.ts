import type { QueryConfig } from 'pg';
import { AppError } from '../lib/errors.ts';
import type { Plan, Step } from './operations.ts';
import { isConflict, NotAsExpected } from './postgres-errors.ts';
import type { Link } from './postgres-link.ts';
import type { Session } from './postgres-session.ts';
import { asStored, numbered } from './postgres-texts.ts';

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

/** All results in order, or the first failure: those that follow it only say that the transaction has failed. */
async function allOf<Result>(asked: readonly Promise<Result>[]): Promise<readonly Result[]> {
  const outcomes = await Promise.allSettled(asked);
  return outcomes.map(outcome => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}

async function writeTogether(link: Link, plans: readonly Plan[]): Promise<void> {
  const session = await link.session();
  const steps = plans.flatMap(plan => plan.steps);
  try {
    const [, identified, ...written] = await allOf([
      session.query({ text: 'begin' }),
      session.query(TRANSACTION_ID),
      ...steps.map(step => session.query(statementOf(step))),
    ]);
    steps.forEach(({ expect }, index) => {
      const changes = written[index]?.rowCount ?? 0;
      if (expect !== undefined && changes !== expect)
        throw new NotAsExpected(`${changes} rows changed instead of ${expect}`);
    });
    await link.commit(session, identified?.rows[0]?.id);
  } catch (error) {
    await rollBack(session);
    throw error;
  }
}

async function rollBack(session: Session): Promise<void> {
  // A session that fails at this is over, and the server rolls back by itself.
  if (!session.isOver()) await session.query({ text: 'rollback' }).catch(() => {});
}

/**
 * Writes the plans in one transaction. One that fails by what it holds is halved until the bad plans stand alone; one
 * that the server cannot take now is refused as a whole, because its halves would only wait for the same.
 */
export async function runBatch(
  link: Link,
  explain: (error: unknown) => AppError,
  plans: readonly Plan[],
): Promise<readonly (AppError | null)[]> {
  try {
    await writeTogether(link, plans);
    return plans.map(() => null);
  } catch (error) {
    const [only] = plans;
    if (plans.length === 1 && only !== undefined && isConflict(error))
      return [new AppError('conflict', only.conflict())];
    const explained = explain(error);
    if (plans.length === 1 || explained.code === 'unavailable') return plans.map(() => explained);
  }
  const half = plans.length >> 1;
  const first = await runBatch(link, explain, plans.slice(0, half));
  return [...first, ...(await runBatch(link, explain, plans.slice(half)))];
}
