import { randomBytes } from 'node:crypto';
import type { JWK } from 'jose';
import type { Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import { AppError } from '../../lib/errors.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMutex } from '../../lib/mutex.ts';
import { createRepeat } from '../../lib/repeat.ts';
import type { Storage, Transaction } from '../../storage/storage.ts';
import type { KeyRow } from '../../storage/stores/instance.ts';
import type { Audit } from '../audit.ts';
import { type Algorithm, generateKey, MAX_TOKEN_TTL_SECONDS, readKeySet, type TokenKeys } from './keys.ts';

const INSTANCE_ID = 'instance_id';
const INSTANCE_ID_BYTES = 16;
/** Whoever verifies elsewhere may know the published keys that long; a key signs only after it was among them. */
export const JWKS_MAX_AGE_SECONDS = 300;
const SKEW_MS = 60_000;
const PREPUBLISHED_MS = JWKS_MAX_AGE_SECONDS * 1000 + SKEW_MS;
/** The longest token that a key may have signed is over by then. */
const RETIRING_MS = MAX_TOKEN_TTL_SECONDS * 1000 + SKEW_MS;
/** Each is published, and decrypted by every process. */
const MOST_KEYS = 50;
const FIRST_CHECK_MS = 1000;
const CHECK_INTERVAL_MS = 600_000;
/** Tokens of made-up keys must not become a flood of questions to the store. */
const MIN_REFRESH_INTERVAL_MS = 1000;

/** What may be told of a key. */
export type KeyDetails = Pick<KeyRow, 'kid' | 'algorithm' | 'state' | 'created_at' | 'since' | 'ends_at'>;

/**
 * The keys that sign tokens: one is next and published, one is active, those that have signed are retiring until their
 * last token is over, and then gone.
 */
export interface KeyRotation {
  readonly tokenKeys: TokenKeys;
  /** When the present key is due to be turned, in epoch ms; undefined where the store has lost it. */
  rotatesAt(): number | undefined;
  /** The public keys of all states. */
  published(): readonly JWK[];
  list(): Promise<readonly KeyDetails[]>;
  /**
   * The next key signs from now on, or a new one when `algorithm` is not that of the next; left out, it is that of the
   * settings. With `isCompromised` all keys are gone and every token ends, in all processes.
   */
  rotate(options: {
    readonly isCompromised: boolean;
    readonly algorithm?: Algorithm | undefined;
  }): Promise<KeyDetails>;
  /** Reads the keys anew: another process may have turned them. */
  reload(): Promise<void>;
  /** Looks from now on, and from time to time, whether a key has to be made, turned or removed. */
  start(): void;
  stop(): Promise<void>;
}

export interface KeyRotationOptions {
  readonly storage: Pick<Storage, 'keys' | 'instanceValue' | 'transaction'>;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly audit: Pick<Audit, 'record'>;
  /** Whether other processes have the same store. */
  readonly isShared: boolean;
  /** Asked each time. */
  readonly settings: () => { readonly signingAlgorithm: Algorithm; readonly keyLifetimeMs: number };
  /** Resolves once no process can act on what it knew before the call. */
  readonly waitForPropagation: () => Promise<void>;
}

/** Opens the keys, making what a new store lacks. Throws `internal` when the key ring lacks a key, naming its id. */
export async function openKeyRotation(options: KeyRotationOptions): Promise<KeyRotation> {
  const { storage, keyRing, clock, logger, audit, isShared, settings, waitForPropagation } = options;
  const instanceId = await ensureKeys(options);
  const initialRows = await storage.keys();
  let keySet = await readKeySet(initialRows, keyRing);
  /** Whatever changes of users makes the keys be looked at: those that stand as before are not decrypted again. */
  let loadedStates = statesOf(initialRows);
  let activeSince = activeSinceOf(initialRows);
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'the keys of tokens cannot be looked after',
    over: 'the keys of tokens are looked after again',
  });
  const mutex = createMutex();
  const looking = createRepeat({
    clock,
    firstAfterMs: FIRST_CHECK_MS,
    interval: CHECK_INTERVAL_MS,
    work: maintain,
    faults,
  });
  let refreshing: Promise<void> | undefined;
  let refreshedAt = Number.NEGATIVE_INFINITY;

  const generate = (
    state: KeyRow['state'],
    now: number,
    algorithm = settings().signingAlgorithm,
  ): Promise<KeyRow> => generateKey(keyRing, { algorithm, state, now });

  /** One after the other: an older answer that came last would bring back keys that are gone. */
  const reload = (): Promise<void> =>
    mutex.run(async () => {
      const rows = await storage.keys();
      const present = statesOf(rows);
      if (present === loadedStates) return;
      keySet = await readKeySet(rows, keyRing);
      loadedStates = present;
      activeSince = activeSinceOf(rows);
    });

  async function refresh(): Promise<void> {
    if (!isShared) return;
    if (refreshing === undefined && clock.monotonic() - refreshedAt >= MIN_REFRESH_INTERVAL_MS) {
      refreshedAt = clock.monotonic();
      refreshing = reload().finally(() => {
        refreshing = undefined;
      });
    }
    await refreshing;
  }

  /** Undefined when another process has done it already. */
  async function rotateFrom(
    expected: string,
    { isCompromised, algorithm = settings().signingAlgorithm }: Parameters<KeyRotation['rotate']>[0],
  ): Promise<KeyRow | undefined> {
    const now = clock.now();
    // Made before the transaction: a key takes long enough to hold up every other write.
    const next = await generate('next', now);
    const spare = await generate('active', now, algorithm);
    const active = await storage.transaction(async tx => {
      await tx.incrementUserChanges();
      const rows = await tx.keys();
      if (rows.find(isActive)?.kid !== expected) return undefined;
      if (!isCompromised && rows.length >= MOST_KEYS) throw tooManyKeys();
      return isCompromised
        ? replaceAll(tx, { rows, spare, next })
        : promote(tx, { rows, spare, next, algorithm, now });
    });
    await reload();
    return active;
  }

  async function maintain(): Promise<void> {
    const now = clock.now();
    const rows = await storage.keys();
    const active = rows.find(isActive);
    const next = rows.find(({ state }) => state === 'next');
    const isOver = ({ ends_at: endsAt }: KeyRow): boolean => endsAt !== null && endsAt <= now;
    const gone = rows.filter(isOver);
    if (gone.length > 0)
      await storage.transaction(async tx => {
        for (const { kid } of gone) await tx.removeKey(kid);
      });
    if (next === undefined || next.algorithm !== settings().signingAlgorithm)
      await publishNext(storage, await generate('next', now));
    else if (
      active !== undefined &&
      active.since + settings().keyLifetimeMs <= now &&
      next.since + PREPUBLISHED_MS <= now &&
      (await rotateFrom(active.kid, { isCompromised: false })) !== undefined
    )
      await audit.record({ actor: 'headgate', action: 'keys.rotate', target: next.kid, address: 'local' });
    await reload();
  }

  return {
    tokenKeys: {
      instanceId,
      get signing() {
        return keySet.signing;
      },
      get verifying() {
        return keySet.verifying;
      },
      refresh,
    },
    rotatesAt: () => activeSince && activeSince + settings().keyLifetimeMs,
    published: () => keySet.published,
    list: async () => (await storage.keys()).map(keyDetails),
    async rotate(request) {
      await reload();
      const rotated =
        (await rotateFrom(keySet.signing.kid, request)) ?? (await storage.keys()).find(isActive);
      if (request.isCompromised) await waitForPropagation();
      if (rotated === undefined) throw new Error('the store lost its keys');
      return keyDetails(rotated);
    },
    reload,
    start: () => looking.start(),
    stop: () => looking.stop(),
  };
}

const tooManyKeys = (): AppError =>
  new AppError(
    'conflict',
    `there are ${MOST_KEYS} keys already, most of them retiring; turn them again when some are gone, or as compromised`,
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
  /** For where no published key will do. */
  readonly spare: KeyRow;
  readonly next: KeyRow;
}

/** Whoever has one key may have them all. */
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

/** In place of the one that was next, unless another process was faster. */
async function publishNext(storage: KeyRotationOptions['storage'], next: KeyRow): Promise<void> {
  await storage.transaction(async tx => {
    await tx.incrementUserChanges();
    const former = (await tx.keys()).find(({ state }) => state === 'next');
    if (former?.algorithm === next.algorithm) return;
    if (former !== undefined) await tx.removeKey(former.kid);
    await tx.addKey(next);
  });
}

/** Answers the installation's id. */
async function ensureKeys({ storage, keyRing, clock, settings }: KeyRotationOptions): Promise<string> {
  const loadedStates = await storage.keys();
  const instanceId = await storage.instanceValue(INSTANCE_ID);
  if (loadedStates.length > 0 && instanceId !== undefined) return instanceId;
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
