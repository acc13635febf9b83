import type { Clock } from '../../lib/clock.ts';
import { AppError, notFound } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMutex } from '../../lib/mutex.ts';
import type { Secret } from '../../lib/secret.ts';
import type { Storage, WorkspaceTransaction } from '../../storage/storage.ts';
import type { IngestTokenRow } from '../../storage/stores/ingest-tokens.ts';
import { createIssuedSecrets, type IssuedSecrets } from './issued-secrets.ts';
import { createLastUsed, type LastUsed } from './last-used.ts';

const PREFIX = 'hgi';
/** A bound, as all of them are in memory. */
const MOST_TOKENS = 1000;

/** A token without its secret. Times are epoch ms. */
export interface IngestTokenDetails {
  readonly id: string;
  readonly pipeline: string;
  readonly description: string;
  readonly isEnabled: boolean;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  /** When its present secret was issued. */
  readonly issuedAt: number;
  /** When the former secret ends; null when it has. */
  readonly formerEndsAt: number | null;
}

/** Shows the secret, which is not kept, this once. */
export interface IssuedIngestToken extends IngestTokenDetails {
  readonly secret: Secret;
}

interface NewIngestToken {
  /** Generated when left out. */
  readonly id?: string | undefined;
  readonly pipeline: string;
  readonly description: string;
  readonly isEnabled: boolean;
  readonly expiresAt: number | null;
}

/** Undefined fields stay as they are. */
interface IngestTokenChange {
  readonly description?: string | undefined;
  readonly isEnabled?: boolean | undefined;
  readonly expiresAt?: number | null | undefined;
}

/**
 * The tokens that senders of metrics present, cached by their digests: no push waits for the store. A change made by
 * this process takes effect before it is answered, one made by another process with the next `reload`.
 */
export interface IngestTokens {
  /** By id. */
  list(): readonly IngestTokenDetails[];
  /** Throws `not-found`, as everything that takes an id does. */
  get(id: string): IngestTokenDetails;
  /** Rejects with `conflict` when the id is taken, or when there are 1,000 already. */
  create(token: NewIngestToken): Promise<IssuedIngestToken>;
  update(id: string, change: IngestTokenChange): Promise<IngestTokenDetails>;
  /** Issues another secret; the present one stays valid for `graceMs`, the one before it ends. */
  rotate(id: string, graceMs: number): Promise<IssuedIngestToken>;
  /** Returns the removed token. */
  remove(id: string): Promise<IngestTokenDetails>;
  /** Returns the id of the secret's pipeline and records its use; undefined for a secret that is not valid. */
  pipelineOf(secret: string): string | undefined;
  /** True for a text with the prefix of such secrets that is none, such as a mistyped one. */
  isMalformed(secret: string): boolean;
  /** Reads what other processes have changed. */
  reload(): Promise<void>;
  /** Writes when tokens were last used. */
  stop(): Promise<void>;
}

export interface IngestTokensOptions {
  readonly storage: Pick<Storage, 'in' | 'transaction'>;
  readonly workspace: string;
  readonly pepper: Secret;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

export async function openIngestTokens(options: IngestTokensOptions): Promise<IngestTokens> {
  const { storage, workspace } = options;
  const cache = await loadIngestTokenCache(storage.in(workspace).ingestTokens.list);
  return new IngestTokenService({ ...options, cache });
}

class IngestTokenService implements IngestTokens {
  readonly #cache: IngestTokenCache;
  readonly #lastUsed: LastUsed;
  readonly #secrets: IssuedSecrets;
  readonly #storage: IngestTokensOptions['storage'];
  readonly #workspace: string;
  readonly #clock: Clock;
  readonly #ids: Ids;

  constructor(options: IngestTokensOptions & { readonly cache: IngestTokenCache }) {
    const { cache, storage, workspace, pepper, clock, ids, logger } = options;
    this.#cache = cache;
    this.#secrets = createIssuedSecrets(PREFIX, pepper);
    this.#lastUsed = createLastUsed({
      clock,
      logger: logger.child({ component: 'ingest-tokens' }),
      write: uses => storage.transaction(tx => tx.in(workspace).recordIngestTokenUses(uses)),
    });
    this.#storage = storage;
    this.#workspace = workspace;
    this.#clock = clock;
    this.#ids = ids;
  }

  list(): readonly IngestTokenDetails[] {
    return this.#cache.all().map(row => this.#detailsOf(row));
  }

  get(id: string): IngestTokenDetails {
    return this.#detailsOf(requireRow(id, this.#cache.get(id)));
  }

  async create(token: NewIngestToken): Promise<IssuedIngestToken> {
    const { id = this.#ids.next(), pipeline, description, isEnabled, expiresAt } = token;
    const secret = this.#secrets.make();
    const row = newTokenRow({
      id,
      pipeline,
      description,
      enabled: isEnabled ? 1 : 0,
      created_at: this.#clock.now(),
      expires_at: expiresAt,
      digest: this.#secrets.digestOf(secret.reveal()),
    });
    await this.#change(async tx => {
      await tx.addIngestToken(row);
      if ((await tx.countIngestTokens()) > MOST_TOKENS)
        throw new AppError('conflict', `there are ${MOST_TOKENS} ingest tokens already; remove one first`);
    });
    return { ...(await this.#updateCache(id, row)), secret };
  }

  async update(
    id: string,
    { description, isEnabled, expiresAt }: IngestTokenChange,
  ): Promise<IngestTokenDetails> {
    const change = {
      ...(description !== undefined && { description }),
      ...(isEnabled !== undefined && { enabled: isEnabled ? 1 : 0 }),
      ...(expiresAt !== undefined && { expires_at: expiresAt }),
    };
    if (Object.keys(change).length === 0) return this.get(id);
    return this.#updateCache(id, await this.#change(tx => tx.updateIngestToken(id, change)));
  }

  async rotate(id: string, graceMs: number): Promise<IssuedIngestToken> {
    const secret = this.#secrets.make();
    const now = this.#clock.now();
    const rotation = {
      digest: this.#secrets.digestOf(secret.reveal()),
      issued_at: now,
      formerEndsAt: graceMs === 0 ? null : now + graceMs,
    };
    const row = await this.#change(tx => tx.rotateIngestToken(id, rotation));
    return { ...(await this.#updateCache(id, row)), secret };
  }

  async remove(id: string): Promise<IngestTokenDetails> {
    const row = await this.#change(tx => tx.removeIngestToken(id));
    const details = this.#detailsOf(requireRow(id, row));
    await this.#cache.apply(id, undefined);
    this.#lastUsed.forget(id);
    return details;
  }

  pipelineOf(secret: string): string | undefined {
    if (this.#secrets.isMalformed(secret)) return undefined;
    const digest = this.#secrets.digestOf(secret);
    const row = this.#cache.byDigest(digest);
    if (row === undefined || !isValidNow(row, digest, this.#clock.now())) return undefined;
    this.#lastUsed.record(row.id);
    return row.pipeline;
  }

  isMalformed(secret: string): boolean {
    return this.#secrets.isMalformed(secret);
  }

  reload(): Promise<void> {
    return this.#cache.reload();
  }

  stop(): Promise<void> {
    return this.#lastUsed.stop();
  }

  #change<Result>(work: (tx: WorkspaceTransaction) => Promise<Result>): Promise<Result> {
    return this.#storage.transaction(tx => work(tx.in(this.#workspace)));
  }

  async #updateCache(id: string, row: IngestTokenRow | undefined): Promise<IngestTokenDetails> {
    const found = requireRow(id, row);
    await this.#cache.apply(id, found);
    return this.#detailsOf(found);
  }

  #detailsOf(row: IngestTokenRow): IngestTokenDetails {
    const { former_ends_at: formerEndsAt } = row;
    return {
      id: row.id,
      pipeline: row.pipeline,
      description: row.description,
      isEnabled: row.enabled === 1,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      lastUsedAt: this.#lastUsed.lastUsedAt(row.id) ?? row.last_used_at,
      issuedAt: row.issued_at,
      formerEndsAt: formerEndsAt !== null && formerEndsAt > this.#clock.now() ? formerEndsAt : null,
    };
  }
}

function requireRow(id: string, row: IngestTokenRow | undefined): IngestTokenRow {
  if (row === undefined) throw notFound('ingest token', id);
  return row;
}

type NewTokenFields = 'id' | 'pipeline' | 'description' | 'enabled' | 'created_at' | 'expires_at' | 'digest';

const newTokenRow = (details: Pick<IngestTokenRow, NewTokenFields>): IngestTokenRow => ({
  ...details,
  issued_at: details.created_at,
  last_used_at: null,
  former_digest: null,
  former_ends_at: null,
});

function isValidNow(row: IngestTokenRow, digest: string, now: number): boolean {
  const isOver = row.expires_at !== null && row.expires_at <= now;
  const isReplaced = row.digest !== digest && (row.former_ends_at ?? 0) <= now;
  return row.enabled === 1 && !isOver && !isReplaced;
}

/** The rows of all tokens, found by id and by the digests of their secrets. */
interface IngestTokenCache {
  /** By id. */
  all(): readonly IngestTokenRow[];
  get(id: string): IngestTokenRow | undefined;
  /** Finds a token by the digest of its present or former secret. */
  byDigest(digest: string): IngestTokenRow | undefined;
  /** Stores the committed row; undefined for a removed one. */
  apply(id: string, row: IngestTokenRow | undefined): Promise<void>;
  reload(): Promise<void>;
}

interface TokenIndex {
  readonly rows: ReadonlyMap<string, IngestTokenRow>;
  readonly digests: ReadonlyMap<string, IngestTokenRow>;
}

async function loadIngestTokenCache(
  read: () => Promise<readonly IngestTokenRow[]>,
): Promise<IngestTokenCache> {
  let index = buildIndex(await read());
  const mutex = createMutex();

  /** Changes run one after the other: an older answer that came last would bring back removed tokens. */
  const change = (step: () => Promise<TokenIndex>): Promise<void> =>
    mutex.run(async () => {
      index = await step();
    });

  return {
    all: () => [...index.rows.values()],
    get: id => index.rows.get(id),
    byDigest: digest => index.digests.get(digest),
    apply: (id, row) =>
      change(async () => {
        const others = [...index.rows.values()].filter(one => one.id !== id);
        return buildIndex(row === undefined ? others : [...others, row]);
      }),
    reload: () => change(async () => buildIndex(await read())),
  };
}

function buildIndex(rows: readonly IngestTokenRow[]): TokenIndex {
  const digests = new Map<string, IngestTokenRow>();
  for (const row of rows) {
    if (row.former_digest !== null) digests.set(row.former_digest, row);
    digests.set(row.digest, row);
  }
  const sorted = rows.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  return { rows: new Map(sorted.map(row => [row.id, row])), digests };
}
