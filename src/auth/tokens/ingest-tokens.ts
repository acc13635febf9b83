import type { Clock } from '../../lib/clock.ts';
import { AppError, notFound } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMutex } from '../../lib/mutex.ts';
import type { Secret } from '../../lib/secret.ts';
import type { Storage } from '../../storage/storage.ts';
import type { IngestTokenRow } from '../../storage/stores/ingest-tokens.ts';
import { createIssuedSecrets } from './issued-secrets.ts';
import { createLastUsed } from './last-used.ts';

const PREFIX = 'hgi';
/** All of them are in memory. */
const MOST_TOKENS = 1000;

/** What may be told of a token; never its secret. Times are epoch ms. */
export interface IngestTokenDetails {
  readonly id: string;
  readonly pipeline: string;
  readonly description: string;
  readonly isEnabled: boolean;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  /** When its secret was made. */
  readonly issuedAt: number;
  /** Until when the secret before counts; null when it does not. */
  readonly formerEndsAt: number | null;
}

/** The only moment at which the secret is known. */
export interface IssuedIngestToken extends IngestTokenDetails {
  readonly secret: Secret;
}

interface NewIngestToken {
  /** Left out, one is made. */
  readonly id?: string | undefined;
  readonly pipeline: string;
  readonly description: string;
  readonly isEnabled: boolean;
  readonly expiresAt: number | null;
}

/** What is undefined stays. */
interface IngestTokenChange {
  readonly description?: string | undefined;
  readonly isEnabled?: boolean | undefined;
  readonly expiresAt?: number | null | undefined;
}

/**
 * The tokens that senders of metrics show, held in memory by their digests: no push waits for the store. What this
 * process changes counts when the change is answered; what others change is taken over by `reread`.
 */
export interface IngestTokens {
  /** By id. */
  list(): readonly IngestTokenDetails[];
  /** Throws `not-found`, as all that name a token do. */
  get(id: string): IngestTokenDetails;
  /** Rejects with `conflict` when the id is taken, or when there are 1,000 already. */
  create(token: NewIngestToken): Promise<IssuedIngestToken>;
  update(id: string, change: IngestTokenChange): Promise<IngestTokenDetails>;
  /** Another secret; the present one counts for `graceMs` more, the one before it no more. */
  rotate(id: string, graceMs: number): Promise<IssuedIngestToken>;
  /** Answers what it removed. */
  remove(id: string): Promise<IngestTokenDetails>;
  /** Id of the pipeline that the secret is for, and books its use; undefined for what counts nowhere, or no more. */
  pipelineOf(secret: string): string | undefined;
  /** Whether it was meant to be such a secret and cannot be one. */
  isMalformed(secret: string): boolean;
  /** Takes over what other processes have changed. */
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
  const { storage, workspace, clock, ids } = options;
  const logger = options.logger.child({ component: 'ingest-tokens' });
  const secrets = createIssuedSecrets(PREFIX, options.pepper);
  const lastUsed = createLastUsed({
    clock,
    logger,
    write: uses => storage.transaction(tx => tx.in(workspace).recordIngestTokenUses(uses)),
  });
  const cache = await loadIngestTokenCache(storage.in(workspace).ingestTokens.list);

  const detailsOf = (row: IngestTokenRow): IngestTokenDetails => ({
    id: row.id,
    pipeline: row.pipeline,
    description: row.description,
    isEnabled: row.enabled === 1,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: lastUsed.lastUsedAt(row.id) ?? row.last_used_at,
    issuedAt: row.issued_at,
    formerEndsAt: row.former_ends_at !== null && row.former_ends_at > clock.now() ? row.former_ends_at : null,
  });

  const requireRow = (id: string, row: IngestTokenRow | undefined): IngestTokenRow => {
    if (row === undefined) throw notFound('ingest token', id);
    return row;
  };

  async function updateCache(id: string, row: IngestTokenRow | undefined): Promise<IngestTokenDetails> {
    const found = requireRow(id, row);
    await cache.apply(id, found);
    return detailsOf(found);
  }

  const get = (id: string): IngestTokenDetails => detailsOf(requireRow(id, cache.get(id)));

  return {
    list: () => cache.all().map(detailsOf),
    get,
    async create({ id = ids.next(), pipeline, description, isEnabled, expiresAt }) {
      const secret = secrets.make();
      const row = newTokenRow({
        id,
        pipeline,
        description,
        enabled: isEnabled ? 1 : 0,
        created_at: clock.now(),
        expires_at: expiresAt,
        digest: secrets.digestOf(secret.reveal()),
      });
      await storage.transaction(async tx => {
        await tx.in(workspace).addIngestToken(row);
        if ((await tx.in(workspace).countIngestTokens()) > MOST_TOKENS)
          throw new AppError('conflict', `there are ${MOST_TOKENS} ingest tokens already; remove one first`);
      });
      return { ...(await updateCache(id, row)), secret };
    },
    async update(id, { description, isEnabled, expiresAt }) {
      const change = {
        ...(description !== undefined && { description }),
        ...(isEnabled !== undefined && { enabled: isEnabled ? 1 : 0 }),
        ...(expiresAt !== undefined && { expires_at: expiresAt }),
      };
      if (Object.keys(change).length === 0) return get(id);
      const row = await storage.transaction(tx => tx.in(workspace).updateIngestToken(id, change));
      return updateCache(id, row);
    },
    async rotate(id, graceMs) {
      const secret = secrets.make();
      const now = clock.now();
      const rotation = {
        digest: secrets.digestOf(secret.reveal()),
        issued_at: now,
        formerEndsAt: graceMs === 0 ? null : now + graceMs,
      };
      const row = await storage.transaction(tx => tx.in(workspace).rotateIngestToken(id, rotation));
      return { ...(await updateCache(id, row)), secret };
    },
    async remove(id) {
      const row = await storage.transaction(tx => tx.in(workspace).removeIngestToken(id));
      const details = detailsOf(requireRow(id, row));
      await cache.apply(id, undefined);
      lastUsed.forget(id);
      return details;
    },
    pipelineOf(secret) {
      if (secrets.isMalformed(secret)) return undefined;
      const digest = secrets.digestOf(secret);
      const row = cache.byDigest(digest);
      if (row === undefined || !isValidNow(row, digest, clock.now())) return undefined;
      lastUsed.record(row.id);
      return row.pipeline;
    },
    isMalformed: secrets.isMalformed,
    reload: cache.reload,
    stop: lastUsed.stop,
  };
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

/** The rows of all tokens in memory, found by id and by the digests of their secrets: no push waits for the store. */
interface IngestTokenCache {
  /** By id. */
  all(): readonly IngestTokenRow[];
  get(id: string): IngestTokenRow | undefined;
  /** Whose present or former secret has that digest. */
  byDigest(digest: string): IngestTokenRow | undefined;
  /** Takes over what was committed: the row as it is now, or that there is none any more. */
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

  /** One after the other: an older answer that came last would bring back what is gone. */
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
