import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { syncFolderOf } from '../../lib/private-file.ts';
import type { SnapshotPlace } from './snapshots.ts';

/** A magic with the version, then for each record a length, a checksum and its bytes, then a length of 0. */
const MAGIC = Buffer.from('headgate snapshot 1\n');
const LARGEST_BYTES = 2 ** 31 - 1;

/** Keeps snapshots in the file at `path`, for a process that has its store alone. */
export const snapshotFile = (path: string): SnapshotPlace => ({
  fields: { path },
  read: () => readRecords(path),
  write: records => writeRecords(path, records),
});

async function writeRecords(path: string, records: AsyncIterable<Buffer>): Promise<void> {
  const staged = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const file = await open(staged, 'wx', 0o600);
  try {
    await file.write(MAGIC);
    for await (const record of records) await file.write(framed(record));
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

const framed = (body: Buffer): Buffer => Buffer.concat([header(body.length, crc32(body)), body]);

function header(length: number, checksum: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(length, 0);
  bytes.writeUInt32LE(checksum, 4);
  return bytes;
}

/** Throws for a file that is not whole or of another format. */
async function readRecords(path: string): Promise<readonly Buffer[]> {
  const bytes = await bytesOf(path);
  if (bytes === undefined) return [];
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw new Error('it is no snapshot of this version');
  const records: Buffer[] = [];
  let at = MAGIC.length;
  for (;;) {
    if (at + 8 > bytes.length) throw new Error('it is cut short');
    const length = bytes.readUInt32LE(at);
    if (length === 0) return records;
    const body = bytes.subarray(at + 8, at + 8 + length);
    if (body.length < length || crc32(body) !== bytes.readUInt32LE(at + 4)) throw new Error('it is damaged');
    records.push(body);
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
