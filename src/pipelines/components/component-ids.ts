import { createHash } from 'node:crypto';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import { deterministicId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Storage, WorkspaceTransaction } from '../../storage/storage.ts';
import type { ComponentRow } from '../../storage/stores/components.ts';
import { MOST_COMPONENTS } from '../settings.ts';
import type { Component } from './component.ts';

/** What an input or output is, before it has an id. Its pipeline, kind, type and engine's id make it one, not its group. */
export type ComponentIdentity = Omit<Component, 'id'>;

/** A component that is given its id once that is recorded. */
export interface Unnamed extends ComponentIdentity {
  id: string;
}

type Show = (component: Unnamed, id: string) => void;

/** Gives inputs and outputs their ids, and records each before anybody is shown it. */
export interface ComponentIds {
  /**
   * Calls `show` with the id once it is recorded: the recorded one, else `former`, the one it had in a snapshot, else one
   * that is free. While the store refuses it is tried again and again.
   */
  record(component: Unnamed, former: string | undefined, show: Show): void;
  /** Settles once what waits was tried; never rejects. Undefined when nothing is being recorded. */
  recording(): Promise<void> | undefined;
  /** Records that these are there, so that ids of what is gone make room before theirs. Rejects when the store refuses. */
  touch(components: readonly Component[]): Promise<void>;
  /** Records nothing more. */
  stop(): Promise<void>;
}

interface Options {
  readonly workspace: string;
  readonly storage: Pick<Storage, 'in' | 'transaction'>;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly logger: Logger;
  /** How many components the workspace may have at a time. */
  readonly mostComponents?: number | undefined;
}

/** What is recorded in one transaction, while nothing else is written. */
const BATCH = 500;
const RETRY_MS = 1000;
/** Ids that are kept for each component there may be; beyond it those go that were not there for the longest time. */
const IDS_PER_COMPONENT = 5;
/** In one transaction. */
const MOST_REMOVED = 10_000;
const DAY_MS = 24 * 3_600_000;

export const createComponentIds = (options: Options): ComponentIds => new StoredIds(options);

/** A component that waits for its id. There may be as many as there are components, so it is small. */
interface Unrecorded {
  readonly component: Unnamed;
  readonly former: string | undefined;
  readonly show: Show;
}

class StoredIds implements ComponentIds {
  readonly #options: Options;
  readonly #most: number;
  readonly #faults: CountedLog;
  #waiting: Unrecorded[] = [];
  #recording: Promise<void> | undefined;
  #cancelRetry: Cancel | undefined;
  #isStopped = false;
  /** How many ids are recorded; undefined before the first is. */
  #count: number | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#most = IDS_PER_COMPONENT * (options.mostComponents ?? MOST_COMPONENTS);
    this.#faults = createCountedLog(options.logger, {
      fields: {},
      message: 'ids of new inputs and outputs cannot be recorded, so these are not shown yet',
      over: 'ids of new inputs and outputs are recorded again',
    });
  }

  record(component: Unnamed, former: string | undefined, show: Show): void {
    if (this.#isStopped) return;
    this.#waiting.push({ component, former, show });
    if (this.#cancelRetry === undefined) this.#recording ??= this.#recordAll();
  }

  recording(): Promise<void> | undefined {
    return this.#recording;
  }

  async touch(components: readonly Component[]): Promise<void> {
    const { storage, workspace, clock } = this.#options;
    const times = { at: clock.now(), before: clock.now() - DAY_MS / 2 };
    for (let from = 0; from < components.length && !this.#isStopped; from += BATCH) {
      const identities = components.slice(from, from + BATCH).map(identityOf);
      const rows = await storage.in(workspace).components.byIdentities(identities);
      const old = rows.filter(row => row.seen_at < times.before).map(row => row.identity);
      if (old.length > 0) await storage.transaction(tx => tx.in(workspace).touchComponents(old, times));
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#waiting = [];
    this.#cancelRetry?.();
    await this.#recording;
  }

  async #recordAll(): Promise<void> {
    // All that a page brings is there once the page has been read, which takes no turn.
    await Promise.resolve();
    while (this.#waiting.length > 0 && (await this.#recordBatch()));
    this.#recording = undefined;
  }

  /** Answers false when the store refused. */
  async #recordBatch(): Promise<boolean> {
    const batch = this.#waiting.slice(0, BATCH);
    const identities = batch.map(({ component }) => identityOf(component));
    try {
      const ids = await this.#idsOf(batch, identities);
      this.#faults.recovered();
      this.#waiting.splice(0, batch.length);
      batch.forEach(({ component, show }, at) => {
        const id = ids.get(identities[at] ?? '');
        if (id !== undefined && !this.#isStopped) show(component, id);
      });
      return true;
    } catch (error) {
      this.#faults.failed(error);
      if (!this.#isStopped) this.#cancelRetry = this.#options.clock.after(RETRY_MS, () => this.#retry());
      return false;
    }
  }

  #retry(): void {
    this.#cancelRetry = undefined;
    this.#recording ??= this.#recordAll();
  }

  /** Only what is new needs a commit. */
  async #idsOf(
    batch: readonly Unrecorded[],
    identities: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const { storage, workspace } = this.#options;
    const { components } = storage.in(workspace);
    const ids = idsOfRows(await components.byIdentities(identities));
    if (identities.every(identity => ids.has(identity))) return ids;
    this.#count ??= await components.count();
    const count = this.#count;
    const added = await storage.transaction(async tx => {
      const now = this.#options.clock.now();
      const { ids: all, rows } = await addMissing(tx.in(workspace), { batch, identities, now });
      const excess = Math.max(0, Math.min(count + rows.length - this.#most, MOST_REMOVED));
      if (excess > 0) await tx.in(workspace).removeOldestComponents(excess);
      return { ids: all, change: rows.length - excess };
    });
    this.#count = count + added.change;
    return added.ids;
  }
}

const identityOf = ({ kind, pipeline, type, engineId }: ComponentIdentity): string =>
  deterministicId(kind, pipeline, type, engineId);

const idsOfRows = (rows: readonly ComponentRow[]): Map<string, string> =>
  new Map(rows.map(({ identity, id }) => [identity, id]));

/** Records those of the batch that are not, in its order: of two that want an id the first gets it. */
async function addMissing(
  tx: WorkspaceTransaction,
  {
    batch,
    identities,
    now,
  }: {
    readonly batch: readonly Unrecorded[];
    readonly identities: readonly string[];
    readonly now: number;
  },
): Promise<{ readonly ids: ReadonlyMap<string, string>; readonly rows: readonly ComponentRow[] }> {
  const ids = idsOfRows(await tx.componentsByIdentities(identities));
  const rows: ComponentRow[] = [];
  const taken = new Set<string>();
  const missing = new Map<string, Unrecorded>();
  batch.forEach((one, at) => {
    const identity = identities[at] ?? '';
    if (!ids.has(identity)) missing.set(identity, one);
  });
  let open = [...missing].map(([identity, { component, former }]) => ({
    ...{ identity, component },
    candidates: candidateIds(component, former),
    id: '',
  }));
  while (open.length > 0) {
    for (const one of open) one.id = one.candidates.next().value;
    for (const { kind, id } of await tx.componentsByIds([...new Set(open.map(({ id }) => id))]))
      taken.add(`${kind} ${id}`);
    open = open.filter(({ component, identity, id }) => {
      const { kind, pipeline } = component;
      if (taken.has(`${kind} ${id}`)) return true;
      taken.add(`${kind} ${id}`);
      ids.set(identity, id);
      rows.push({ identity, kind, id, pipeline, seen_at: now });
      return false;
    });
  }
  await tx.addComponents(rows);
  return { ids, rows };
}

const LONGEST_ID = 512;
const HASH_DIGITS = 6;

/**
 * The ids that a component may get, the best first: the one it had, the engine's id with other characters as `_`, and
 * that with the first hex digits of a hash of what makes it different.
 */
export function* candidateIds(
  { group, pipeline, type, engineId }: ComponentIdentity,
  former: string | undefined,
): Generator<string, never> {
  if (former !== undefined) yield former;
  const bare = engineId.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, LONGEST_ID) || '_';
  yield bare;
  for (let attempt = 0; ; attempt++) {
    const hash = createHash('sha256')
      .update([group, pipeline, type, engineId, attempt].join('\n'))
      .digest('hex');
    yield `${bare.slice(0, LONGEST_ID - HASH_DIGITS - 1)}_${hash.slice(0, HASH_DIGITS)}`;
  }
}
