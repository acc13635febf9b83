import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { Logger } from '../lib/logger.ts';
import { createRepeat } from '../lib/repeat.ts';
import { readBeats, writeBeats } from './beat-file.ts';
import { decide } from './decide.ts';
import type { Incidents } from './incidents.ts';
import type { PostedEvent } from './posted-events.ts';
import type { BeatWatch, Watch } from './watch.ts';

/** Names that are kept: what a sender may cost that never uses one twice. */
const MOST_NAMES = 10_000;
const SAVED_EACH_MS = 30_000;

export interface BeatsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly incidents: Incidents;
  /** The notifications in force, by id. */
  readonly watches: ReadonlyMap<string, Watch>;
  /** The file that carries the last ones over a restart; left out, none are. */
  readonly beatsFile?: string;
}

/** Waits for heartbeats. After a start one window must pass before any is missed: it may have come meanwhile. */
export interface Beats {
  /** Looks anew which notifications are in force. */
  configure(): void;
  /** Resolves when what follows is on disk; rejects with `unavailable` or `unprocessable`. The id of an event is not looked at. */
  post(events: readonly PostedEvent[]): Promise<void>;
  evaluate(watch: BeatWatch): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface Beat {
  /** Epoch ms; null when only a failure was posted. */
  lastAt: number | null;
  /** On the monotonic clock: when it came, or when this process began to wait for it. */
  seenAt: number;
  /** When one came to this process. */
  beatAt: number | undefined;
  hasFailed: boolean;
}

export function createBeats(options: BeatsOptions): Beats {
  const { clock, incidents, watches, beatsFile } = options;
  const beats = new Map<string, Beat>();
  const faults = createFaultLog(options.logger, {
    fields: { file: beatsFile },
    message: 'when heartbeats came last cannot be read or written; a restart forgets it',
    over: 'when heartbeats came last can be kept again',
  });
  let isChanged = false;
  const saving = createRepeat({
    clock,
    interval: SAVED_EACH_MS,
    work: save,
    faults: { failed: error => faults.failed(error) },
  });

  const waiting = (key: string): BeatWatch[] =>
    [...watches.values()].filter(watch => watch.source === 'beat').filter(watch => watch.isMeant(key));

  function note({ key, state }: PostedEvent): void {
    const now = clock.monotonic();
    const before = beats.get(key);
    if (before === undefined && beats.size >= MOST_NAMES) throw tooMany();
    const hasFailed = state === 'ALARM';
    beats.set(key, {
      lastAt: hasFailed ? (before?.lastAt ?? null) : clock.now(),
      seenAt: hasFailed ? (before?.seenAt ?? now) : now,
      beatAt: hasFailed ? before?.beatAt : now,
      hasFailed,
    });
    isChanged = true;
  }

  /** What is to be told of it now, on its way to the disk. */
  function judge(watch: BeatWatch, key: string, added: PostedEvent['fields']): Promise<unknown> | undefined {
    const now = clock.monotonic();
    const incident = watch.incidents.get(key);
    const beat = beats.get(key);
    const verdict = watch.rule.evaluate({
      key,
      lastAt: beat?.lastAt ?? null,
      silentMs: now - Math.max(beat?.seenAt ?? 0, watch.since),
      beatMs: beat?.beatAt === undefined ? undefined : now - beat.beatAt,
      hasFailed: beat?.hasFailed ?? false,
      open: incident && {
        ms: Math.max(0, clock.now() - incident.row.opened_at),
        observedMs: now - incident.watchedSince,
      },
    });
    const decision = decide({
      verdict: verdict.state,
      isOpen: incident !== undefined,
      holdingMs: 0,
      forMs: 0,
      toldMs: now - (incident?.toldAt ?? now),
      repeatMs: watch.notification.repeatMs,
    });
    if (decision === 'nothing' || verdict.state === 'unknown') return undefined;
    const { text, fields } = verdict.describe();
    return incidents.tell(watch, {
      subject: { key, name: key, component: undefined },
      status: decision === 'close' ? 'OK' : 'ALARM',
      description: { text, fields: { ...added, ...fields } },
    });
  }

  async function settle(id: string, { key, fields }: PostedEvent): Promise<void> {
    for (;;) {
      // The configuration may have changed while something was waited for.
      const watch = watches.get(id);
      if (watch?.source !== 'beat') return;
      const writing = watch.writing.get(key);
      if (writing === undefined) {
        const failure = await judge(watch, key, fields);
        if (failure !== undefined) throw notNow(failure);
        return;
      }
      await writing;
    }
  }

  async function take(event: PostedEvent): Promise<void> {
    const meant = waiting(event.key);
    if (meant.length === 0) return;
    note(event);
    for (const watch of meant) watch.names.add(event.key);
    await Promise.all(meant.map(({ notification }) => settle(notification.id, event)));
  }

  async function save(): Promise<void> {
    if (beatsFile === undefined || !isChanged) return;
    isChanged = false;
    const last = [...beats].flatMap(([key, { lastAt }]): [string, number][] =>
      lastAt === null ? [] : [[key, lastAt]],
    );
    try {
      await writeBeats(beatsFile, new Map(last));
      faults.passed();
    } catch (error) {
      isChanged = true;
      faults.failed(error);
    }
  }

  async function restore(path: string): Promise<void> {
    try {
      const now = clock.monotonic();
      for (const [key, lastAt] of await readBeats(path))
        if (!beats.has(key)) beats.set(key, { lastAt, seenAt: now, beatAt: undefined, hasFailed: false });
    } catch (error) {
      faults.failed(error);
    }
  }

  function configure(): void {
    const meant = new Set<string>();
    for (const watch of watches.values()) {
      if (watch.source !== 'beat') continue;
      for (const key of beats.keys()) if (watch.isMeant(key)) watch.names.add(key);
      for (const key of watch.names) meant.add(key);
    }
    for (const key of beats.keys()) if (!meant.has(key)) beats.delete(key);
  }

  return {
    configure,
    async post(events) {
      const byKey = new Map<string, PostedEvent[]>();
      for (const event of events) byKey.set(event.key, [...(byKey.get(event.key) ?? []), event]);
      const chains = [...byKey.values()].map(async chain => {
        for (const event of chain) await take(event);
      });
      await Promise.all(chains);
    },
    evaluate(watch) {
      for (const key of new Set([...watch.names, ...watch.incidents.keys()]))
        if (!watch.writing.has(key)) void judge(watch, key, undefined);
    },
    async start() {
      if (beatsFile !== undefined) await restore(beatsFile);
      configure();
      saving.start();
    },
    async stop() {
      await saving.stop();
      await save();
    },
  };
}

const notNow = (cause: unknown): AppError =>
  new AppError('unavailable', 'heartbeats cannot be written just now', { retryAfterSeconds: 1, cause });

const tooMany = (): AppError =>
  new AppError('unprocessable', `there are ${MOST_NAMES} heartbeats already, as many as there may be`);
