import type { SessionTable } from './tables.ts';

export type SessionRow = SessionTable;

export interface SessionStore {
  byId(id: string): Promise<SessionRow | undefined>;
}

/** What a transaction does with sessions of browsers. */
export interface SessionTransaction {
  /** Of the user's sessions the `most` newest stay, this one among them. */
  addSession(session: SessionRow, most: number): Promise<void>;
  /** Books that somebody did something in it, if it is still there. */
  touchSession(id: string, seenAt: number): Promise<void>;
  /** Answers what it removed. */
  removeSession(id: string): Promise<SessionRow | undefined>;
  /**
   * Removes the sessions that are over or were last seen before `idleBefore`, and the states nobody can use any more.
   * Answers how many sessions these were.
   */
  removeEndedSessions(now: number, idleBefore: number): Promise<number>;
  /** Whether the sign-in of this state has not been used before. */
  useState(id: string, endsAt: number): Promise<boolean>;
}
