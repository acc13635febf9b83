import { createMutex } from '../lib/mutex.ts';
import type { IngestTokenRow } from '../storage/storage.ts';

/** The rows of all tokens in memory, found by id and by the digests of their secrets: no push waits for the store. */
export interface IngestTokenMemory {
  /** By id. */
  all(): readonly IngestTokenRow[];
  get(id: string): IngestTokenRow | undefined;
  /** Whose present or former secret has that digest. */
  ofDigest(digest: string): IngestTokenRow | undefined;
  /** Takes over what was committed: the row as it is now, or that there is none any more. */
  takeOver(id: string, row: IngestTokenRow | undefined): Promise<void>;
  reread(): Promise<void>;
}

interface Known {
  readonly rows: ReadonlyMap<string, IngestTokenRow>;
  readonly digests: ReadonlyMap<string, IngestTokenRow>;
}

export async function rememberIngestTokens(
  read: () => Promise<readonly IngestTokenRow[]>,
): Promise<IngestTokenMemory> {
  let known = knownFrom(await read());
  const mutex = createMutex();

  /** One after the other: an older answer that came last would bring back what is gone. */
  const change = (step: () => Promise<Known>): Promise<void> =>
    mutex.run(async () => {
      known = await step();
    });

  return {
    all: () => [...known.rows.values()],
    get: id => known.rows.get(id),
    ofDigest: digest => known.digests.get(digest),
    takeOver: (id, row) =>
      change(async () => {
        const others = [...known.rows.values()].filter(one => one.id !== id);
        return knownFrom(row === undefined ? others : [...others, row]);
      }),
    reread: () => change(async () => knownFrom(await read())),
  };
}

function knownFrom(rows: readonly IngestTokenRow[]): Known {
  const digests = new Map<string, IngestTokenRow>();
  for (const row of rows) {
    if (row.former_digest !== null) digests.set(row.former_digest, row);
    digests.set(row.digest, row);
  }
  const sorted = rows.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  return { rows: new Map(sorted.map(row => [row.id, row])), digests };
}
