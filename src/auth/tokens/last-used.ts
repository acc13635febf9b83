import type { Cancel, Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import type { Logger } from '../../lib/logger.ts';

/** The use of a token or a secret, by its id; epoch ms. */
export interface Use {
  readonly id: string;
  readonly at: number;
}

/** Keeps the times of last use in memory and writes them at most once a minute: a write for each use would be a flood. */
export interface LastUsed {
  record(id: string): void;
  /** Epoch ms; undefined when this process has not recorded a use. */
  lastUsedAt(id: string): number | undefined;
  forget(id: string): void;
  /** Writes the times that were not written yet. */
  readonly stop: () => Promise<void>;
}

const WRITE_MS = 60_000;

/** A failed write is retried a minute later, and logged once. */
export function createLastUsed({
  clock,
  logger,
  write,
}: {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly write: (uses: readonly Use[]) => Promise<void>;
}): LastUsed {
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'when tokens were last used cannot be written',
    over: 'when tokens were last used is written again',
  });
  const uses = new Map<string, number>();
  const unwritten = new Set<string>();
  let cancel: Cancel | undefined;
  let writing: Promise<void> = Promise.resolve();

  function writeLater(): void {
    cancel ??= clock.after(WRITE_MS, () => {
      cancel = undefined;
      writing = flush();
    });
  }

  async function flush(): Promise<void> {
    const written = [...unwritten].map(id => ({ id, at: uses.get(id) ?? 0 }));
    if (written.length === 0) return;
    unwritten.clear();
    try {
      await write(written);
      faults.recovered();
    } catch (error) {
      faults.failed(error);
      for (const { id } of written) if (uses.has(id)) unwritten.add(id);
      writeLater();
    }
  }

  return {
    record(id) {
      uses.set(id, clock.now());
      unwritten.add(id);
      writeLater();
    },
    lastUsedAt: id => uses.get(id),
    forget(id) {
      uses.delete(id);
      unwritten.delete(id);
    },
    async stop() {
      cancel?.();
      await writing;
      await flush();
      cancel?.();
    },
  };
}
