import type { Clock } from '../lib/clock.ts';
import { AppError, notFound } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { Secret } from '../lib/secret.ts';
import type { IngestTokenRow, Storage } from '../storage/storage.ts';
import { rememberIngestTokens } from './ingest-token-memory.ts';
import { issuedSecrets } from './issued-secret.ts';
import { createLastUsed } from './last-used.ts';

const PREFIX = 'hgi';
/** All of them are in memory. */
const MOST_TOKENS = 1000;

/** What may be told of a token; never its secret. Times are epoch ms. */
export interface IngestTokenFacts {
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
export interface IssuedIngestToken extends IngestTokenFacts {
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
  list(): readonly IngestTokenFacts[];
  /** Throws `not-found`, as all that name a token do. */
  get(id: string): IngestTokenFacts;
  /** Rejects with `conflict` when the id is taken, or when there are 1,000 already. */
  create(token: NewIngestToken): Promise<IssuedIngestToken>;
  update(id: string, change: IngestTokenChange): Promise<IngestTokenFacts>;
  /** Another secret; the present one counts for `graceMs` more, the one before it no more. */
  rotate(id: string, graceMs: number): Promise<IssuedIngestToken>;
  /** Answers what it removed. */
  remove(id: string): Promise<IngestTokenFacts>;
  /** Id of the pipeline that the secret is for, and books its use; undefined for what counts nowhere, or no more. */
  pipelineOf(secret: string): string | undefined;
  /** Whether it was meant to be such a secret and cannot be one. */
  isMistyped(secret: string): boolean;
  /** Takes over what other processes have changed. */
  reread(): Promise<void>;
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
  const secrets = issuedSecrets(PREFIX, options.pepper);
  const used = createLastUsed({
    clock,
    logger,
    write: uses => storage.transaction(tx => tx.in(workspace).useIngestTokens(uses)),
  });
  const memory = await rememberIngestTokens(storage.in(workspace).ingestTokens.list);

  const factsOf = (row: IngestTokenRow): IngestTokenFacts => ({
    id: row.id,
    pipeline: row.pipeline,
    description: row.description,
    isEnabled: row.enabled === 1,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: used.of(row.id) ?? row.last_used_at,
    issuedAt: row.issued_at,
    formerEndsAt: row.former_ends_at !== null && row.former_ends_at > clock.now() ? row.former_ends_at : null,
  });

  const rowOf = (id: string, row: IngestTokenRow | undefined): IngestTokenRow => {
    if (row === undefined) throw notFound('ingest token', id);
    return row;
  };

  async function changed(id: string, row: IngestTokenRow | undefined): Promise<IngestTokenFacts> {
    const found = rowOf(id, row);
    await memory.takeOver(id, found);
    return factsOf(found);
  }

  const get = (id: string): IngestTokenFacts => factsOf(rowOf(id, memory.get(id)));

  return {
    list: () => memory.all().map(factsOf),
    get,
    async create({ id = ids.next(), pipeline, description, isEnabled, expiresAt }) {
      const secret = secrets.make();
      const row = freshRow({
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
      return { ...(await changed(id, row)), secret };
    },
    async update(id, { description, isEnabled, expiresAt }) {
      const change = {
        ...(description !== undefined && { description }),
        ...(isEnabled !== undefined && { enabled: isEnabled ? 1 : 0 }),
        ...(expiresAt !== undefined && { expires_at: expiresAt }),
      };
      if (Object.keys(change).length === 0) return get(id);
      const row = await storage.transaction(tx => tx.in(workspace).changeIngestToken(id, change));
      return changed(id, row);
    },
    async rotate(id, graceMs) {
      const secret = secrets.make();
      const now = clock.now();
      const turn = {
        digest: secrets.digestOf(secret.reveal()),
        issued_at: now,
        formerEndsAt: graceMs === 0 ? null : now + graceMs,
      };
      const row = await storage.transaction(tx => tx.in(workspace).rotateIngestToken(id, turn));
      return { ...(await changed(id, row)), secret };
    },
    async remove(id) {
      const row = await storage.transaction(tx => tx.in(workspace).removeIngestToken(id));
      const facts = factsOf(rowOf(id, row));
      await memory.takeOver(id, undefined);
      used.forget(id);
      return facts;
    },
    pipelineOf(secret) {
      if (secrets.isMistyped(secret)) return undefined;
      const digest = secrets.digestOf(secret);
      const row = memory.ofDigest(digest);
      if (row === undefined || !counts(row, digest, clock.now())) return undefined;
      used.note(row.id);
      return row.pipeline;
    },
    isMistyped: secrets.isMistyped,
    reread: memory.reread,
    stop: used.stop,
  };
}

type FreshFacts = 'id' | 'pipeline' | 'description' | 'enabled' | 'created_at' | 'expires_at' | 'digest';

const freshRow = (facts: Pick<IngestTokenRow, FreshFacts>): IngestTokenRow => ({
  ...facts,
  issued_at: facts.created_at,
  last_used_at: null,
  former_digest: null,
  former_ends_at: null,
});

function counts(row: IngestTokenRow, digest: string, now: number): boolean {
  const isOver = row.expires_at !== null && row.expires_at <= now;
  const isReplaced = row.digest !== digest && (row.former_ends_at ?? 0) <= now;
  return row.enabled === 1 && !isOver && !isReplaced;
}
