import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { crc32, deflateRaw, inflateRaw } from 'node:zlib';
import * as z from 'zod';
import type { Storage } from '../../storage/storage.ts';
import { SUMMARY_PART } from '../../storage/stores/snapshots.ts';
import type { SnapshotPlace } from './snapshots.ts';

interface Options {
  readonly workspace: string;
  readonly storage: Pick<Storage, 'in' | 'transaction'>;
}

/** A part is packed and written by itself, so that others that wait for the writer do so for milliseconds. */
const PART_BYTES = 2 ** 20;
/** What all parts may take, packed and as text. */
const LARGEST_TEXT = 256 * 2 ** 20;
/** A record is far below; a part holds one at least. */
const LARGEST_PART_BYTES = 64 * 2 ** 20;
const FORMAT = 1;

const summarySchema = z.object({
  format: z.literal(FORMAT),
  parts: z.int().nonnegative(),
  /** CRC-32 of all records, each with its length before it. */
  checksum: z.int(),
});

const pack = promisify(deflateRaw);
const unpack = promisify<Buffer, { maxOutputLength: number }, Buffer>(inflateRaw);

/**
 * Keeps snapshots in the store, where the next process that leads finds them. Written under the lease of the present
 * one, which no other can then replace.
 */
export const snapshotInStore = (options: Options): SnapshotPlace => ({
  fields: { place: 'the store' },
  read: () => readParts(options),
  write: records => writeParts(options, records),
});

async function writeParts({ workspace, storage }: Options, records: AsyncIterable<Buffer>): Promise<void> {
  const id = randomUUID();
  let parts = 0;
  let checksum = 0;
  let length = 0;
  await storage.transaction(tx => tx.in(workspace).removePartialSnapshots());
  for await (const bytes of inParts(records)) {
    checksum = crc32(bytes, checksum);
    const data = (await pack(bytes)).toString('base64');
    length += data.length;
    if (length > LARGEST_TEXT) throw new Error(`it would be larger than ${LARGEST_TEXT} bytes`);
    parts++;
    const part = parts;
    await storage.transaction(tx => tx.in(workspace).addSnapshotPart({ id, part, data }));
  }
  const data = JSON.stringify({ format: FORMAT, parts, checksum } satisfies z.input<typeof summarySchema>);
  await storage.transaction(tx => tx.in(workspace).completeSnapshot({ id, data }));
}

/** Records with their lengths before them, some together. */
async function* inParts(records: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let waiting: Buffer[] = [];
  let length = 0;
  for await (const record of records) {
    const header = Buffer.alloc(4);
    header.writeUInt32LE(record.length);
    waiting.push(header, record);
    length += record.length;
    if (length < PART_BYTES) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    length = 0;
  }
  if (waiting.length > 0) yield Buffer.concat(waiting);
}

/** Throws for a snapshot that is not whole or of another format. */
async function readParts({ workspace, storage }: Options): Promise<readonly Buffer[]> {
  const { snapshots } = storage.in(workspace);
  const summary = await snapshots.part(SUMMARY_PART);
  if (summary === undefined) return [];
  const { parts, checksum } = parseSummary(summary.data);
  const records: Buffer[] = [];
  let found = 0;
  for (let number = 1; number <= parts; number++) {
    const part = await snapshots.part(number);
    if (part === undefined) throw new Error('parts of it are missing');
    const packed = Buffer.from(part.data, 'base64');
    const bytes = await unpack(packed, { maxOutputLength: LARGEST_PART_BYTES });
    found = crc32(bytes, found);
    for (let at = 0; at < bytes.length; ) {
      const end = at + 4 + bytes.readUInt32LE(at);
      records.push(bytes.subarray(at + 4, end));
      at = end;
    }
  }
  if (found !== checksum) throw new Error('it is damaged');
  return records;
}

function parseSummary(text: string): z.output<typeof summarySchema> {
  const { success, data } = summarySchema.safeParse(JSON.parse(text));
  if (!success) throw new Error('it is no snapshot of this version');
  return data;
}
