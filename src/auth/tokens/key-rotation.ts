import { randomBytes } from 'node:crypto';
import type { JWK } from 'jose';
import type { Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import { AppError } from '../../lib/errors.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMutex } from '../../lib/mutex.ts';
import { createRepeat, type Repeat } from '../../lib/repeat.ts';
import type { Storage, Transaction } from '../../storage/storage.ts';
import type { KeyRow } from '../../storage/stores/instance.ts';
import type { Audit } from '../audit.ts';
import type { Algorithm } from './algorithms.ts';
import { generateKey, type KeySet, MAX_TOKEN_TTL_SECONDS, readKeySet, type TokenKeys } from './keys.ts';

const INSTANCE_ID = 'instance_id';
const INSTANCE_ID_BYTES = 16;
/** How long other verifiers may cache the published keys; a key signs only after it was among them. */
export const JWKS_MAX_AGE_SECONDS = 300;
const SKEW_MS = 60_000;
const PREPUBLISHED_MS = JWKS_MAX_AGE_SECONDS * 1000 + SKEW_MS;
/** The longest token that a key may have signed has ended by then. */
const RETIRING_MS = MAX_TOKEN_TTL_SECONDS * 1000 + SKEW_MS;
/** Every process decrypts and publishes each key. */
const MOST_KEYS = 50;
const FIRST_CHECK_MS = 1000;
const CHECK_INTERVAL_MS = 600_000;
/** Bounds how often tokens of made-up keys can make a process read the store. */
const MIN_REFRESH_INTERVAL_MS = 1000;

/** The public part of a key's row. */
export type KeyDetails = Pick<KeyRow, 'kid' | 'algorithm' | 'state' | 'created_at' | 'since' | 'ends_at'>;

/**
 * The keys that sign tokens. One is next, and published; one is active; former ones are retiring until their last token
 * has ended, and are then removed.
 */
export interface KeyRotation {
  readonly tokenKeys: TokenKeys;
  /** When the active key is due for rotation, in epoch ms; undefined where the store has lost it. */
  rotatesAt(): number | undefined;
  /** The public keys of all states. */
  published(): readonly JWK[];
  list(): Promise<readonly KeyDetails[]>;
  /**
   * Makes the next key the active one, or a new key when `algorithm` is not that of the next; left out, it is that of
   * the settings. With `isCompromised` all keys are removed and every token ends, in all processes.
   */
  rotate(request: RotateRequest): Promise<KeyDetails>;
  /** Reads the keys again: another process may have rotated them. */
  reload(): Promise<void>;
  /** Checks from now on, at intervals, whether a key has to be generated, rotated or removed. */
  start(): void;
  stop(): Promise<void>;
}

interface RotateRequest {
  readonly isCompromised: boolean;
  readonly algorithm?: Algorithm | undefined;
}

export interface KeyRotationOptions {
  readonly storage: Pick<Storage, 'keys' | 'instanceValue' | 'transaction'>;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly audit: Pick<Audit, 'record'>;
  /** Other processes use the same store. */
  readonly isShared: boolean;
  /** Read each time. */
  readonly settings: () => { readonly signingAlgorithm: Algorithm; readonly keyLifetimeMs: number };
  /** Resolves once no process can act on what it cached before the call. */
  readonly waitForPropagation: () => Promise<void>;
}

/** Opens the keys, making those that a new store lacks. Throws `internal` when the key ring lacks a key, naming its id. */
export async function openKeyRotation(options: KeyRotationOptions): Promise<KeyRotation> {
  const instanceId = await ensureKeys(options);
  const rows = await options.storage.keys();
  const keySet = await readKeySet(rows, options.keyRing);
  return new KeyRotationService({ ...options, instanceId, rows, keySet });
}

interface LoadedKeys {
  readonly instanceId: string;
  readonly rows: readonly KeyRow[];
  readonly keySet: KeySet;
}

class KeyRotationService implements KeyRotation, TokenKeys {
  readonly instanceId: string;
  readonly tokenKeys: TokenKeys = this;
  #keySet: KeySet;
  /** Every change of users reloads the keys: those in the same states as before are not decrypted again. */
  #loadedStates: string;
  #activeSince: number | undefined;
  #refreshing: Promise<void> | undefined;
  /** Monotonic milliseconds. */
  #refreshedAt = Number.NEGATIVE_INFINITY;
  /** Reloads run one after the other: an older answer that came last would bring back keys that are gone. */
  readonly #reloads = createMutex();
  readonly #checks: Repeat;
  readonly #options: Omit<KeyRotationOptions, 'logger'>;

  constructor(options: KeyRotationOptions & LoadedKeys) {
    const { instanceId, rows, keySet, logger, clock } = options;
    this.#options = options;
    this.instanceId = instanceId;
    this.#keySet = keySet;
    this.#loadedStates = statesOf(rows);
    this.#activeSince = activeSinceOf(rows);
    this.#checks = createRepeat({
      clock,
      firstAfterMs: FIRST_CHECK_MS,
      interval: CHECK_INTERVAL_MS,
      work: () => this.#maintain(),
      faults: createCountedLog(logger, {
        fields: {},
        message: 'signing keys cannot be rotated',
        over: 'signing keys are rotated again',
      }),
    });
  }

  get signing(): KeySet['signing'] {
    return this.#keySet.signing;
  }

  get verifying(): KeySet['verifying'] {
    return this.#keySet.verifying;
  }

  async refresh(): Promise<void> {
    const { isShared, clock } = this.#options;
    if (!isShared) return;
    if (this.#refreshing === undefined && clock.monotonic() - this.#refreshedAt >= MIN_REFRESH_INTERVAL_MS) {
      this.#refreshedAt = clock.monotonic();
      this.#refreshing = this.reload().finally(() => {
        this.#refreshing = undefined;
      });
    }
    await this.#refreshing;
  }

  rotatesAt(): number | undefined {
    return this.#activeSince && this.#activeSince + this.#options.settings().keyLifetimeMs;
  }

  published(): readonly JWK[] {
    return this.#keySet.published;
  }

  async list(): Promise<readonly KeyDetails[]> {
    return (await this.#options.storage.keys()).map(keyDetails);
  }

  async rotate(request: RotateRequest): Promise<KeyDetails> {
    const { storage, waitForPropagation } = this.#options;
    await this.reload();
    const rotated =
      (await this.#rotateFrom(this.#keySet.signing.kid, request)) ?? (await storage.keys()).find(isActive);
    if (request.isCompromised) await waitForPropagation();
    if (rotated === undefined) throw new Error('the store lost its keys');
    return keyDetails(rotated);
  }

  reload(): Promise<void> {
    return this.#reloads.run(async () => {
      const rows = await this.#options.storage.keys();
      const states = statesOf(rows);
      if (states === this.#loadedStates) return;
      this.#keySet = await readKeySet(rows, this.#options.keyRing);
      this.#loadedStates = states;
      this.#activeSince = activeSinceOf(rows);
    });
  }

  start(): void {
    this.#checks.start();
  }

  stop(): Promise<void> {
    return this.#checks.stop();
  }

  /** Removes, publishes or rotates a key when one is due. */
  async #maintain(): Promise<void> {
    const { storage, clock, settings, audit } = this.#options;
    const now = clock.now();
    const rows = await storage.keys();
    const active = rows.find(isActive);
    const next = rows.find(({ state }) => state === 'next');
    const ended = rows.filter(({ ends_at: endsAt }) => endsAt !== null && endsAt <= now);
    if (ended.length > 0)
      await storage.transaction(async tx => {
        for (const { kid } of ended) await tx.removeKey(kid);
      });
    if (next === undefined || next.algorithm !== settings().signingAlgorithm)
      await publishNext(storage, await this.#generate('next', now));
    else if (
      active !== undefined &&
      active.since + settings().keyLifetimeMs <= now &&
      next.since + PREPUBLISHED_MS <= now &&
      (await this.#rotateFrom(active.kid, { isCompromised: false })) !== undefined
    )
      await audit.record({ actor: 'headgate', action: 'keys.rotate', target: next.kid, address: 'local' });
    await this.reload();
  }

  /** Returns the key that is active then; undefined when another process has rotated the expected one already. */
  async #rotateFrom(
    expected: string,
    { isCompromised, algorithm = this.#options.settings().signingAlgorithm }: RotateRequest,
  ): Promise<KeyRow | undefined> {
    const { storage, clock } = this.#options;
    const now = clock.now();
    // Generated before the transaction: it takes long enough to hold up every other write.
    const next = await this.#generate('next', now);
    const spare = await this.#generate('active', now, algorithm);
    const active = await storage.transaction(async tx => {
      await tx.incrementUserChanges();
      const rows = await tx.keys();
      if (rows.find(isActive)?.kid !== expected) return undefined;
      if (!isCompromised && rows.length >= MOST_KEYS) throw tooManyKeys();
      return isCompromised
        ? replaceAll(tx, { rows, spare, next })
        : promote(tx, { rows, spare, next, algorithm, now });
    });
    await this.reload();
    return active;
  }

  #generate(
    state: KeyRow['state'],
    now: number,
    algorithm = this.#options.settings().signingAlgorithm,
  ): Promise<KeyRow> {
    return generateKey(this.#options.keyRing, { algorithm, state, now });
  }
}

const tooManyKeys = (): AppError =>
  new AppError(
    'conflict',
    `there are ${MOST_KEYS} keys already, most of them retiring; rotate again when some are gone, or as compromised`,
  );

const statesOf = (rows: readonly KeyRow[]): string =>
  rows.map(({ kid, state }) => `${kid} ${state}`).join('\n');

const activeSinceOf = (rows: readonly KeyRow[]): number | undefined => rows.find(isActive)?.since;

const isActive = ({ state }: KeyRow): boolean => state === 'active';

const keyDetails = ({ kid, algorithm, state, created_at, since, ends_at }: KeyRow): KeyDetails => ({
  kid,
  algorithm,
  state,
  created_at,
  since,
  ends_at,
});

interface Rotation {
  readonly rows: readonly KeyRow[];
  /** Becomes active where the published next key has another algorithm, or may be compromised too. */
  readonly spare: KeyRow;
  readonly next: KeyRow;
}

/** A thief of one key may have them all. */
async function replaceAll(tx: Transaction, { rows, spare, next }: Rotation): Promise<KeyRow> {
  for (const { kid } of rows) await tx.removeKey(kid);
  await tx.addKey(spare);
  await tx.addKey(next);
  return spare;
}

async function promote(
  tx: Transaction,
  { rows, spare, next, algorithm, now }: Rotation & { readonly algorithm: Algorithm; readonly now: number },
): Promise<KeyRow> {
  const active = { state: 'active', since: now, ends_at: null } as const;
  const retiring = { state: 'retiring', since: now, ends_at: now + RETIRING_MS } as const;
  const former = rows.find(({ state }) => state === 'next');
  for (const row of rows) if (isActive(row)) await tx.updateKey(row.kid, retiring);
  const isFit = former !== undefined && former.algorithm === algorithm;
  if (isFit) await tx.updateKey(former.kid, active);
  else {
    if (former !== undefined) await tx.removeKey(former.kid);
    await tx.addKey(spare);
  }
  await tx.addKey(next);
  return isFit ? { ...former, ...active } : spare;
}

/** Replaces the next key, unless another process was faster. */
async function publishNext(storage: KeyRotationOptions['storage'], next: KeyRow): Promise<void> {
  await storage.transaction(async tx => {
    await tx.incrementUserChanges();
    const former = (await tx.keys()).find(({ state }) => state === 'next');
    if (former?.algorithm === next.algorithm) return;
    if (former !== undefined) await tx.removeKey(former.kid);
    await tx.addKey(next);
  });
}

/** Returns the id of the installation. */
async function ensureKeys({ storage, keyRing, clock, settings }: KeyRotationOptions): Promise<string> {
  const rows = await storage.keys();
  const instanceId = await storage.instanceValue(INSTANCE_ID);
  if (rows.length > 0 && instanceId !== undefined) return instanceId;
  const spare = await generateKey(keyRing, {
    algorithm: settings().signingAlgorithm,
    state: 'active',
    now: clock.now(),
  });
  return storage.transaction(async tx => {
    if ((await tx.keys()).length === 0) await tx.addKey(spare);
    const present = await tx.instanceValue(INSTANCE_ID);
    if (present !== undefined) return present;
    const id = randomBytes(INSTANCE_ID_BYTES).toString('hex');
    await tx.setInstanceValue(INSTANCE_ID, id);
    return id;
  });
}
