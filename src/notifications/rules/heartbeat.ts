import { readFile, rename } from 'node:fs/promises';
import * as z from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import { AppError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { stagePrivateFile } from '../../lib/private-file.ts';
import { createRepeat } from '../../lib/repeat.ts';
import type { ActiveHeartbeatRule, ActiveRule } from '../active-rule.ts';
import type { ExternalEvent } from '../external-events.ts';
import type { Incidents } from '../incidents/incidents.ts';
import { decide } from './evaluation.ts';

/** Names that are kept: what a sender may cost that never uses one twice. */
const MAX_HEARTBEATS = 10_000;
const SAVE_INTERVAL_MS = 30_000;

export interface HeartbeatsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly incidents: Incidents;
  /** The notifications in force, by id. */
  readonly activeRules: ReadonlyMap<string, ActiveRule>;
  /** The file that carries the last ones over a restart; left out, none are. */
  readonly beatsFile?: string;
}

/** Waits for heartbeats. After a start one window must pass before any is missed: it may have come meanwhile. */
export interface Heartbeats {
  /** Looks anew which notifications are in force. */
  configure(): void;
  /** Resolves when what follows is on disk; rejects with `unavailable` or `unprocessable`. The id of an event is not looked at. */
  post(events: readonly ExternalEvent[]): Promise<void>;
  evaluate(active: ActiveHeartbeatRule): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface HeartbeatRecord {
  /** Epoch ms; null when only a failure was posted. */
  lastAt: number | null;
  /** On the monotonic clock: when it came, or when this process began to wait for it. */
  silentSince: number;
  /** When one came to this process. */
  receivedAt: number | undefined;
  hasFailed: boolean;
}

export function createHeartbeats(options: HeartbeatsOptions): Heartbeats {
  const { clock, incidents, activeRules, beatsFile } = options;
  const heartbeats = new Map<string, HeartbeatRecord>();
  const faults = createCountedLog(options.logger, {
    fields: { file: beatsFile },
    message: 'when heartbeats came last cannot be read or written; a restart forgets it',
    over: 'when heartbeats came last can be kept again',
  });
  let isChanged = false;
  const saving = createRepeat({
    clock,
    interval: SAVE_INTERVAL_MS,
    work: save,
    faults: { failed: error => faults.failed(error) },
  });

  const rulesFor = (key: string): ActiveHeartbeatRule[] =>
    [...activeRules.values()]
      .filter(active => active.source === 'beat')
      .filter(active => active.matches(key));

  function recordEvent({ key, state }: ExternalEvent): void {
    const now = clock.monotonic();
    const before = heartbeats.get(key);
    if (before === undefined && heartbeats.size >= MAX_HEARTBEATS) throw tooManyHeartbeats();
    const hasFailed = state === 'ALARM';
    heartbeats.set(key, {
      lastAt: hasFailed ? (before?.lastAt ?? null) : clock.now(),
      silentSince: hasFailed ? (before?.silentSince ?? now) : now,
      receivedAt: hasFailed ? before?.receivedAt : now,
      hasFailed,
    });
    isChanged = true;
  }

  /** What is to be told of it now, on its way to the disk. */
  function evaluateKey(
    active: ActiveHeartbeatRule,
    key: string,
    senderFields: ExternalEvent['fields'],
  ): Promise<unknown> | undefined {
    const now = clock.monotonic();
    const incident = active.incidents.get(key);
    const record = heartbeats.get(key);
    const verdict = active.rule.evaluate({
      key,
      lastAt: record?.lastAt ?? null,
      silentMs: now - Math.max(record?.silentSince ?? 0, active.waitingSince),
      sinceReceivedMs: record?.receivedAt === undefined ? undefined : now - record.receivedAt,
      hasFailed: record?.hasFailed ?? false,
      open: incident && {
        ms: Math.max(0, clock.now() - incident.row.opened_at),
        observedMs: now - incident.observedSince,
      },
    });
    const decision = decide({
      verdict: verdict.state,
      isOpen: incident !== undefined,
      pendingMs: 0,
      forMs: 0,
      sinceNotifiedMs: now - (incident?.notifiedAt ?? now),
      repeatMs: active.notification.repeatMs,
    });
    if (decision === 'nothing' || verdict.state === 'unknown') return undefined;
    const { text, fields } = verdict.describe();
    return incidents.notify(active, {
      subject: { key, name: key, component: undefined },
      status: decision === 'close' ? 'OK' : 'ALARM',
      description: { text, fields: { ...senderFields, ...fields } },
    });
  }

  async function applyEvent(id: string, { key, fields }: ExternalEvent): Promise<void> {
    for (;;) {
      // The configuration may have changed while something was waited for.
      const active = activeRules.get(id);
      if (active?.source !== 'beat') return;
      const writing = active.writing.get(key);
      if (writing === undefined) {
        const failure = await evaluateKey(active, key, fields);
        if (failure !== undefined) throw temporarilyUnavailable(failure);
        return;
      }
      await writing;
    }
  }

  async function handle(event: ExternalEvent): Promise<void> {
    const matching = rulesFor(event.key);
    if (matching.length === 0) return;
    recordEvent(event);
    for (const active of matching) active.expected.add(event.key);
    await Promise.all(matching.map(({ notification }) => applyEvent(notification.id, event)));
  }

  async function save(): Promise<void> {
    if (beatsFile === undefined || !isChanged) return;
    isChanged = false;
    const last = [...heartbeats].flatMap(([key, { lastAt }]): [string, number][] =>
      lastAt === null ? [] : [[key, lastAt]],
    );
    try {
      await writeHeartbeats(beatsFile, new Map(last));
      faults.recovered();
    } catch (error) {
      isChanged = true;
      faults.failed(error);
    }
  }

  async function restore(path: string): Promise<void> {
    try {
      const now = clock.monotonic();
      for (const [key, lastAt] of await readHeartbeats(path))
        if (!heartbeats.has(key))
          heartbeats.set(key, { lastAt, silentSince: now, receivedAt: undefined, hasFailed: false });
    } catch (error) {
      faults.failed(error);
    }
  }

  function configure(): void {
    const matching = new Set<string>();
    for (const active of activeRules.values()) {
      if (active.source !== 'beat') continue;
      for (const key of heartbeats.keys()) if (active.matches(key)) active.expected.add(key);
      for (const key of active.expected) matching.add(key);
    }
    for (const key of heartbeats.keys()) if (!matching.has(key)) heartbeats.delete(key);
  }

  return {
    configure,
    async post(events) {
      const byKey = new Map<string, ExternalEvent[]>();
      for (const event of events) byKey.set(event.key, [...(byKey.get(event.key) ?? []), event]);
      const sequences = [...byKey.values()].map(async sequence => {
        for (const event of sequence) await handle(event);
      });
      await Promise.all(sequences);
    },
    evaluate(active) {
      for (const key of new Set([...active.expected, ...active.incidents.keys()]))
        if (!active.writing.has(key)) void evaluateKey(active, key, undefined);
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

const temporarilyUnavailable = (cause: unknown): AppError =>
  new AppError('unavailable', 'heartbeats cannot be written just now', { retryAfterSeconds: 1, cause });

const tooManyHeartbeats = (): AppError =>
  new AppError('unprocessable', `there are ${MAX_HEARTBEATS} heartbeats already, as many as there may be`);

/** Below the data folder: when each heartbeat came last, in epoch ms by its name. */
export const HEARTBEATS_FILE = 'heartbeats';

const fileSchema = z.record(z.string(), z.number());

/** Empty where there is no file. */
async function readHeartbeats(path: string): Promise<ReadonlyMap<string, number>> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return new Map();
    throw error;
  }
  const read: unknown = JSON.parse(text);
  return new Map(Object.entries(fileSchema.parse(read)));
}

async function writeHeartbeats(path: string, heartbeats: ReadonlyMap<string, number>): Promise<void> {
  await rename(await stagePrivateFile(path, `${JSON.stringify(Object.fromEntries(heartbeats))}\n`), path);
}
