import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { digestOf, isSameDigest } from '../../lib/digest.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Storage, Transaction } from '../../storage/storage.ts';
import type { SessionRow } from '../../storage/stores/sessions.ts';
import type { UserRow } from '../../storage/stores/users.ts';
import type { SessionTokens } from '../tokens/session-tokens.ts';

/** Somebody has to sign in again after so long, whatever they do. */
const LONGEST_MS = 12 * 3_600_000;
/** What is older than this is written down again when it is used. */
const TOUCH_INTERVAL_MS = 60_000;
const MOST_PER_USER = 20;
const TOKEN_SECONDS = 300;
const SECRET_BYTES = 32;
/** More than that is not worth its place for naming the user at a logout. */
const LONGEST_ID_TOKEN = 16_384;

/** A browser in which somebody is signed in. */
export interface BrowserSession {
  /** Follows from the secret, which it does not tell. */
  readonly id: string;
  readonly user: UserRow;
  readonly method: SessionRow['method'];
  /** What scripts of our own page send along with a change, and no other page can know. */
  readonly csrfToken: string;
  /** Epoch ms after which it is over whatever happens. */
  readonly endsAt: number;
  /** Epoch ms after which it is over unless somebody does something in it. */
  readonly idleAt: number;
}

interface SessionStart {
  readonly user: UserRow;
  readonly method: SessionRow['method'];
  /** What the identity provider said of the user; it is shown there again at the end. */
  readonly idToken?: string;
  /** What the cookie of the browser holds; that session is over with the new one. */
  readonly former?: string | undefined;
}

/** Sessions of browsers, each known by a secret that only its cookie holds. */
export interface BrowserSessions {
  /** Answers the secret, a new one each time: one that somebody else has planted is worth nothing. */
  begin(start: SessionStart): Promise<{ readonly secret: string; readonly session: BrowserSession }>;
  /** Undefined when it is over, or when the user is not what they were at the sign-in. */
  find(secret: string): Promise<BrowserSession | undefined>;
  /** Books that somebody does something in it, which its idle limit counts from. Answers as `find` does then. */
  touch(secret: string): Promise<BrowserSession | undefined>;
  /** A token of the session's user that lives for minutes, and ends with the session. */
  issueToken(session: BrowserSession): Promise<{ readonly token: string; readonly expiresIn: number }>;
  /** Answers the ID token it began with, if there was one. */
  end(secret: string): Promise<{ readonly idToken: string | undefined }>;
  /** Removes what is over. Answers how many these were. */
  sweep(): Promise<number>;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'sessions' | 'users' | 'transaction'>;
  readonly keyRing: Pick<KeyRing, 'encrypt' | 'decrypt' | 'lacksKeyOf'>;
  readonly tokens: Pick<SessionTokens, 'issue'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Seconds without anybody doing anything; asked each time. */
  readonly idleSeconds: () => number;
}

export function createBrowserSessions({
  storage,
  keyRing,
  tokens,
  clock,
  idleSeconds,
}: Dependencies): BrowserSessions {
  const idleMs = (): number => idleSeconds() * 1000;

  async function read(secret: string): Promise<{ row: SessionRow; user: UserRow } | undefined> {
    const row = await storage.sessions.byId(sessionId(secret));
    const now = clock.now();
    if (row === undefined || row.ends_at <= now || row.seen_at + idleMs() <= now) return undefined;
    const user = await storage.users.byId(row.user_id);
    const isSame = user !== undefined && user.disabled === 0 && user.version === row.user_version;
    return isSame ? { row, user } : undefined;
  }

  const sessionOf = (secret: string, row: SessionRow, user: UserRow): BrowserSession => ({
    id: row.id,
    user,
    method: row.method,
    csrfToken: csrfTokenOf(secret),
    endsAt: row.ends_at,
    idleAt: row.seen_at + idleMs(),
  });

  return {
    async begin({ user, method, idToken, former }) {
      const secret = randomBytes(SECRET_BYTES).toString('base64url');
      const id = sessionId(secret);
      const now = clock.now();
      const kept = idToken !== undefined && idToken.length <= LONGEST_ID_TOKEN ? idToken : undefined;
      const row: SessionRow = {
        id,
        user_id: user.id,
        user_version: user.version,
        method,
        created_at: now,
        seen_at: now,
        ends_at: now + LONGEST_MS,
        id_token: kept === undefined ? null : keyRing.encrypt(kept, placeOf(id)),
      };
      await storage.transaction(async tx => {
        if (former !== undefined) await endIn(tx, former);
        await tx.addSession(row, MOST_PER_USER);
      });
      return { secret, session: sessionOf(secret, row, user) };
    },

    async find(secret) {
      const found = await read(secret);
      return found && sessionOf(secret, found.row, found.user);
    },

    async touch(secret) {
      const found = await read(secret);
      const now = clock.now();
      if (found === undefined) return undefined;
      const { row, user } = found;
      if (now - row.seen_at < Math.min(TOUCH_INTERVAL_MS, idleMs() / 2)) return sessionOf(secret, row, user);
      await storage.transaction(tx => tx.touchSession(row.id, now));
      return sessionOf(secret, { ...row, seen_at: now }, user);
    },

    async issueToken({ id, user, endsAt, idleAt }) {
      const left = Math.floor((Math.min(endsAt, idleAt) - clock.now()) / 1000);
      const expiresIn = Math.max(1, Math.min(TOKEN_SECONDS, left));
      return { token: `Bearer ${await tokens.issue(user.id, expiresIn, user.version, id)}`, expiresIn };
    },

    async end(secret) {
      const row = await storage.transaction(tx => endIn(tx, secret));
      const sealed = row?.id_token ?? null;
      // A key that is gone must keep nobody signed in: the provider is then not told who it is.
      const isReadable = row !== undefined && sealed !== null && !keyRing.lacksKeyOf(sealed);
      return { idToken: isReadable ? keyRing.decrypt(sealed, placeOf(row.id)) : undefined };
    },

    sweep() {
      const now = clock.now();
      return storage.transaction(tx => tx.removeExpiredSessions(now, now - idleMs()));
    },
  };
}

/** Numbered as a change of users is, for processes that did not hear of it: tokens of the session are over. */
async function endIn(
  tx: Pick<Transaction, 'incrementUserChanges' | 'removeSession'>,
  secret: string,
): Promise<SessionRow | undefined> {
  await tx.incrementUserChanges();
  return tx.removeSession(sessionId(secret));
}

const sessionId = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

const placeOf = (id: string): string => `sessions|id_token|${id}`;

/** Follows from the secret, which it does not tell. */
const csrfTokenOf = (secret: string): string =>
  createHmac('sha256', secret).update('csrf').digest('base64url');

export const isCsrfToken = (session: BrowserSession, presented: string): boolean =>
  isSameDigest(digestOf(session.csrfToken), digestOf(presented));
