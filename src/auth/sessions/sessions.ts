import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { digestOf, isSameDigest } from '../../lib/digest.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Storage, Transaction } from '../../storage/storage.ts';
import type { SessionRow } from '../../storage/stores/sessions.ts';
import type { UserRow } from '../../storage/stores/users.ts';
import type { SessionTokens } from '../tokens/session-tokens.ts';

/** A session ends after this time, whatever its activity. */
const LONGEST_MS = 12 * 3_600_000;
/** A session that began so much later than it is now is over, as its tokens are: by a clock that was set back it would last for ever. */
const MAX_AHEAD_MS = 60_000;
/** The least time between two writes of a session's last activity. */
const TOUCH_INTERVAL_MS = 60_000;
const MOST_PER_USER = 20;
const TOKEN_SECONDS = 300;
const SECRET_BYTES = 32;
/** A longer one is not kept for the logout at the provider. */
const LONGEST_ID_TOKEN = 16_384;

/** The session of a signed-in browser. */
export interface BrowserSession {
  /** Derived from the secret, which it does not reveal. */
  readonly id: string;
  readonly user: UserRow;
  readonly method: SessionRow['method'];
  /** Sent by scripts of our own page with each change; no other page can know it. */
  readonly csrfToken: string;
  /** Epoch ms at which it ends whatever happens. */
  readonly endsAt: number;
  /** Epoch ms at which it ends without activity. */
  readonly idleAt: number;
}

interface SessionStart {
  readonly user: UserRow;
  readonly method: SessionRow['method'];
  /** The identity provider's ID token of the user, which its logout needs. */
  readonly idToken?: string;
  /** Secret of the browser's present session, which the new one ends. */
  readonly former?: string | undefined;
}

/** Sessions of browsers, each known by a secret that only its cookie holds. */
export interface BrowserSessions {
  /** Returns a new secret each time, so that a planted one is worth nothing. */
  begin(start: SessionStart): Promise<{ readonly secret: string; readonly session: BrowserSession }>;
  /** Undefined when it has ended, or when the user's tokens have ended since the sign-in. */
  find(secret: string): Promise<BrowserSession | undefined>;
  /** Records activity, from which the idle limit counts. Returns as `find` does then. */
  touch(secret: string): Promise<BrowserSession | undefined>;
  /** Issues a token of the user that is valid for minutes, and ends with the session. */
  issueToken(session: BrowserSession): Promise<{ readonly token: string; readonly expiresIn: number }>;
  /** Returns the ID token it began with, if there was one. */
  end(secret: string): Promise<{ readonly idToken: string | undefined }>;
  /** Removes ended sessions. Returns their number. */
  sweep(): Promise<number>;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'sessions' | 'users' | 'transaction'>;
  readonly keyRing: Pick<KeyRing, 'encrypt' | 'decrypt' | 'lacksKeyOf'>;
  readonly tokens: Pick<SessionTokens, 'issue'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Seconds without activity; read each time. */
  readonly idleSeconds: () => number;
}

export const createBrowserSessions = (dependencies: Dependencies): BrowserSessions =>
  new BrowserSessionService(dependencies);

class BrowserSessionService implements BrowserSessions {
  readonly #storage: Dependencies['storage'];
  readonly #keyRing: Dependencies['keyRing'];
  readonly #tokens: Dependencies['tokens'];
  readonly #clock: Dependencies['clock'];
  readonly #idleSeconds: () => number;

  constructor({ storage, keyRing, tokens, clock, idleSeconds }: Dependencies) {
    this.#storage = storage;
    this.#keyRing = keyRing;
    this.#tokens = tokens;
    this.#clock = clock;
    this.#idleSeconds = idleSeconds;
  }

  async begin({ user, method, idToken, former }: SessionStart): ReturnType<BrowserSessions['begin']> {
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    const id = sessionId(secret);
    const now = this.#clock.now();
    const stored = idToken !== undefined && idToken.length <= LONGEST_ID_TOKEN ? idToken : undefined;
    const row: SessionRow = {
      id,
      user_id: user.id,
      user_version: user.version,
      method,
      created_at: now,
      seen_at: now,
      ends_at: now + LONGEST_MS,
      id_token: stored === undefined ? null : this.#keyRing.encrypt(stored, placeOf(id)),
    };
    await this.#storage.transaction(async tx => {
      if (former !== undefined) await endIn(tx, former);
      await tx.addSession(row, MOST_PER_USER);
    });
    return { secret, session: this.#sessionOf(secret, row, user) };
  }

  async find(secret: string): Promise<BrowserSession | undefined> {
    const found = await this.#read(secret);
    return found && this.#sessionOf(secret, found.row, found.user);
  }

  async touch(secret: string): Promise<BrowserSession | undefined> {
    const found = await this.#read(secret);
    const now = this.#clock.now();
    if (found === undefined) return undefined;
    const { row, user } = found;
    if (now - row.seen_at < Math.min(TOUCH_INTERVAL_MS, this.#idleMs() / 2))
      return this.#sessionOf(secret, row, user);
    await this.#storage.transaction(tx => tx.touchSession(row.id, now));
    return this.#sessionOf(secret, { ...row, seen_at: now }, user);
  }

  async issueToken({ id, user, endsAt, idleAt }: BrowserSession): ReturnType<BrowserSessions['issueToken']> {
    const left = Math.floor((Math.min(endsAt, idleAt) - this.#clock.now()) / 1000);
    const expiresIn = Math.max(1, Math.min(TOKEN_SECONDS, left));
    const token = await this.#tokens.issue(user.id, expiresIn, user.version, id);
    return { token: `Bearer ${token}`, expiresIn };
  }

  async end(secret: string): ReturnType<BrowserSessions['end']> {
    const row = await this.#storage.transaction(tx => endIn(tx, secret));
    const sealed = row?.id_token ?? null;
    // A lost key must not keep anybody signed in: the logout at the provider then names no user.
    const isReadable = row !== undefined && sealed !== null && !this.#keyRing.lacksKeyOf(sealed);
    return { idToken: isReadable ? this.#keyRing.decrypt(sealed, placeOf(row.id)) : undefined };
  }

  sweep(): Promise<number> {
    const now = this.#clock.now();
    const idleMs = this.#idleMs();
    return this.#storage.transaction(tx => tx.removeExpiredSessions(now, now - idleMs));
  }

  async #read(secret: string): Promise<{ row: SessionRow; user: UserRow } | undefined> {
    const row = await this.#storage.sessions.byId(sessionId(secret));
    const now = this.#clock.now();
    if (row === undefined || row.ends_at <= now || row.seen_at + this.#idleMs() <= now) return undefined;
    if (row.created_at > now + MAX_AHEAD_MS) return undefined;
    const user = await this.#storage.users.byId(row.user_id);
    const isSame = user !== undefined && user.disabled === 0 && user.version === row.user_version;
    return isSame ? { row, user } : undefined;
  }

  #sessionOf(secret: string, row: SessionRow, user: UserRow): BrowserSession {
    return {
      id: row.id,
      user,
      method: row.method,
      csrfToken: csrfTokenOf(secret),
      endsAt: row.ends_at,
      idleAt: row.seen_at + this.#idleMs(),
    };
  }

  #idleMs(): number {
    return this.#idleSeconds() * 1000;
  }
}

/** Counted as a change of users, for processes that were not notified: the session's tokens end. */
async function endIn(
  tx: Pick<Transaction, 'incrementUserChanges' | 'removeSession'>,
  secret: string,
): Promise<SessionRow | undefined> {
  await tx.incrementUserChanges();
  return tx.removeSession(sessionId(secret));
}

const sessionId = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

const placeOf = (id: string): string => `sessions|id_token|${id}`;

/** Derived from the secret, which it does not reveal. */
const csrfTokenOf = (secret: string): string =>
  createHmac('sha256', secret).update('csrf').digest('base64url');

export const isCsrfToken = (session: BrowserSession, presented: string): boolean =>
  isSameDigest(digestOf(session.csrfToken), digestOf(presented));
