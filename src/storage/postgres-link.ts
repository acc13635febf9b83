import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { createBackOff } from './postgres-back-off.ts';
import type { Session } from './postgres-session.ts';

/** How long a commit whose answer was lost is asked after. */
const ASK_WITHIN_MS = 10_000;
const ASK_EVERY_MS = 200;

/** The one session that writes, connected anew whenever it was lost. It has one user at a time: a mutex sees to that. */
export interface Link {
  session(): Promise<Session>;
  /**
   * Commits the transaction `id` of the session. When the connection is lost over it, asks the server over another
   * what became of it, since the commit may well have reached the disk.
   */
  commit(session: Session, id: string): Promise<void>;
  close(): Promise<void>;
}

export interface LinkOptions {
  readonly open: () => Promise<Session>;
  readonly explain: (error: unknown) => AppError;
  readonly clock: Clock;
}

export function createLink({ open, explain, clock }: LinkOptions): Link {
  const backOff = createBackOff(clock);
  let current: Session | undefined;
  let closed = false;

  async function session(): Promise<Session> {
    if (closed) throw new AppError('unavailable', 'the storage is closed');
    if (current !== undefined && !current.isOver()) return current;
    await drop();
    backOff.assertTime();
    try {
      current = await open();
      backOff.passed();
      return current;
    } catch (error) {
      const explained = explain(error);
      backOff.failed(explained);
      throw explained;
    }
  }

  async function drop(): Promise<void> {
    const lost = current;
    current = undefined;
    // A dead network never acknowledges the end.
    void lost?.end().catch(() => {});
  }

  /** Answers undefined while the server cannot be asked or has not decided. */
  async function becameOf(id: string): Promise<string | undefined> {
    try {
      const { rows } = await (await session()).query({
        text: 'select txid_status($1::bigint) as status',
        values: [id],
      });
      return rows[0]?.status === 'in progress' ? undefined : String(rows[0]?.status);
    } catch {
      return undefined;
    }
  }

  async function isCommitted(id: string): Promise<boolean> {
    const deadline = clock.monotonic() + ASK_WITHIN_MS;
    for (;;) {
      const status = await becameOf(id);
      if (status === 'committed' || status === 'aborted') return status === 'committed';
      if (status !== undefined || clock.monotonic() >= deadline) {
        throw new AppError(
          'unavailable',
          'the connection was lost over a commit, and the server does not tell whether it was written',
          { retryAfterSeconds: 10 },
        );
      }
      await clock.sleep(ASK_EVERY_MS);
    }
  }

  return {
    session,
    async commit(at, id) {
      let command: string;
      try {
        ({ command } = await at.query({ text: 'commit' }));
      } catch (error) {
        if (at.isOver() && (await isCommitted(id))) return;
        throw error;
      }
      if (command === 'ROLLBACK') {
        throw new AppError('unavailable', 'the database has rolled a change back midway; try again', {
          retryAfterSeconds: 10,
        });
      }
    },
    async close() {
      closed = true;
      await current?.end().catch(() => {});
    },
  };
}
