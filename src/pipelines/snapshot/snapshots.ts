import { setImmediate } from 'node:timers/promises';
import { reasonOf } from '../../lib/errors.ts';
import type { LogFields, Logger } from '../../lib/logger.ts';
import { decodeRecord, encodeRecord, type PipelineRecord, type PipelineSnapshot } from './record.ts';

/** Where snapshots are kept. */
export interface SnapshotPlace {
  /** Names it in the log. */
  readonly fields: LogFields;
  /** The records of the last snapshot, found whole; none when there is no snapshot. */
  read(): Promise<readonly Buffer[]>;
  /** Puts these in the place of the last snapshot in one step, or leaves that as it is. Yields between them. */
  write(records: AsyncIterable<Buffer>): Promise<void>;
}

type Pipelines = Iterable<() => PipelineSnapshot> | AsyncIterable<() => PipelineSnapshot>;

/** Carries counters and silence over a restart: restored at the start, and written again and again. */
export interface Snapshots {
  /** Hands over each record there is. A snapshot that cannot be read is ignored, which is logged. */
  restore(take: (record: PipelineRecord) => void): Promise<void>;
  /** Never rejects: a snapshot that cannot be written is logged once until the reason changes, and the one before stays. */
  write(records: Pipelines): Promise<void>;
}

export function createSnapshots({
  place,
  logger,
}: {
  readonly place: SnapshotPlace;
  readonly logger: Logger;
}): Snapshots {
  let loggedReason: string | undefined;
  return {
    async restore(take) {
      try {
        // Nothing is taken of one that cannot be read to its end.
        for (const record of await decodeAll(await place.read())) {
          take(record);
          await setImmediate();
        }
      } catch (error) {
        logger.error(
          { ...place.fields, reason: reasonOf(error) },
          'The snapshot cannot be read and is ignored; counting begins anew',
        );
      }
    },
    async write(records) {
      const reason = await place.write(encodeAll(records)).then(() => undefined, reasonOf);
      if (reason !== undefined && reason !== loggedReason)
        logger.error(
          { ...place.fields, reason },
          'The snapshot cannot be written; a restart would begin with the one before',
        );
      loggedReason = reason;
    },
  };
}

async function decodeAll(parts: readonly Buffer[]): Promise<readonly PipelineRecord[]> {
  const records: PipelineRecord[] = [];
  for (const part of parts) {
    records.push(decodeRecord(part));
    await setImmediate();
  }
  return records;
}

async function* encodeAll(records: Pipelines): AsyncIterable<Buffer> {
  for await (const record of records) yield* encodeRecord(record());
}
