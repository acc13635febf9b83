import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { deserialize, serialize } from 'node:v8';
import { crc32 } from 'node:zlib';
import * as z from 'zod';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { syncFolderOf } from '../../lib/private-file.ts';
import { WINDOWED } from '../metric.ts';

/**
 * The file that carries counters and silence over a restart: a magic with the version, then for each
 * pipeline a length, a checksum and a value as `v8.serialize` writes it, then a length of 0.
 */
const MAGIC = Buffer.from('headgate snapshot 1\n');
const LARGEST_BYTES = 2 ** 31 - 1;

const numbers = z.number();
const timeOrNone = z.union([numbers, z.nan()]);

const component = z.strictObject({
  kind: z.enum(['input', 'output']),
  type: z.string(),
  engineId: z.string(),
  id: z.string().regex(/^[a-zA-Z0-9_-]{1,512}$/),
  totals: z.array(numbers).length(6),
  known: z.int(),
  lastDataAt: numbers.nullable(),
  timestamp: numbers.nullable(),
  /** Observed ms without data, and without any sign of life, when it was written. */
  silentMs: numbers,
  idleMs: numbers,
  windows: z
    .array(
      z.strictObject({
        metric: z.enum(WINDOWED),
        ms: numbers,
        parts: z.instanceof(Float64Array),
        watchedMs: numbers,
      }),
    )
    .default([]),
});

const feed = z
  .strictObject({
    name: z.string(),
    /** Epoch ms, or NaN. */
    startedAt: timeOrNone.default(Number.NaN),
    readAt: timeOrNone.default(Number.NaN),
    instances: z.array(z.string()),
    series: z.array(z.string()),
    values: z.instanceof(Float64Array),
    times: z.instanceof(Float64Array),
  })
  .refine(value => value.values.length === value.series.length && value.times.length === value.series.length);

const record = z.strictObject({
  pipeline: z.string(),
  group: z.string(),
  engine: z.string(),
  /** Observed ms since it was last read, or since it last sent, when it was written. */
  unreachedMs: numbers.default(0),
  components: z.array(component),
  feeds: z.array(feed),
});

export type PipelineRecord = z.output<typeof record>;

/** The snapshot at one path: restored at the start, and written again and again. */
export interface Snapshots {
  /** Hands over each record there is. A snapshot that cannot be read is ignored, which is logged. */
  restore(take: (record: PipelineRecord) => void): Promise<void>;
  /** Never rejects: a snapshot that cannot be written is logged once until the reason changes, and the one before stays. */
  write(records: Iterable<() => PipelineRecord>): Promise<void>;
}

export function createSnapshots({ path, logger }: { path: string; logger: Logger }): Snapshots {
  let loggedReason: string | undefined;
  return {
    async restore(take) {
      try {
        for (const record of await readSnapshot(path)) take(record);
      } catch (error) {
        logger.error(
          { path, reason: reasonOf(error) },
          'The snapshot cannot be read and is ignored; counting begins anew',
        );
      }
    },
    async write(records) {
      const reason = await writeSnapshot(path, records).then(() => undefined, reasonOf);
      if (reason !== undefined && reason !== loggedReason)
        logger.error(
          { path, reason },
          'The snapshot cannot be written; a restart would begin with the one before',
        );
      loggedReason = reason;
    },
  };
}

/** Replaces the file at `path` in one step, or leaves it as it is. Yields between pipelines, and has the record of one at a time. */
async function writeSnapshot(path: string, records: Iterable<() => PipelineRecord>): Promise<void> {
  const staged = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const file = await open(staged, 'wx', 0o600);
  try {
    await file.write(MAGIC);
    for (const record of records) await file.write(framed(record()));
    await file.write(header(0, 0));
    await file.sync();
    await file.close();
    await rename(staged, path);
    await syncFolderOf(path);
  } catch (error) {
    await file.close().catch(() => {});
    await rm(staged, { force: true });
    throw error;
  }
}

function framed(one: PipelineRecord): Buffer {
  const body = serialize(one);
  return Buffer.concat([header(body.length, crc32(body)), body]);
}

function header(length: number, checksum: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(length, 0);
  bytes.writeUInt32LE(checksum, 4);
  return bytes;
}

/** The records of a snapshot; none when there is no file. Throws for a file that is not whole or of another format. */
async function readSnapshot(path: string): Promise<PipelineRecord[]> {
  const bytes = await bytesOf(path);
  if (bytes === undefined) return [];
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw new Error('it is no snapshot of this version');
  const records: PipelineRecord[] = [];
  let at = MAGIC.length;
  for (;;) {
    if (at + 8 > bytes.length) throw new Error('it is cut short');
    const length = bytes.readUInt32LE(at);
    if (length === 0) return records;
    const body = bytes.subarray(at + 8, at + 8 + length);
    if (body.length < length || crc32(body) !== bytes.readUInt32LE(at + 4)) throw new Error('it is damaged');
    records.push(record.parse(deserialize(body)));
    at += 8 + length;
  }
}

async function bytesOf(path: string): Promise<Buffer | undefined> {
  try {
    const { size } = await stat(path);
    if (size > LARGEST_BYTES) throw new Error(`it is larger than ${LARGEST_BYTES} bytes`);
    return await readFile(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
