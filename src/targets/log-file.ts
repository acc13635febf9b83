import { type FileHandle, mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../lib/errors.ts';
import { createMutex, type Mutex } from '../lib/mutex.ts';

/** When a file would grow over `maxBytes` it becomes `<name>.1`, that becomes `.2`; `maxFiles` counts them all. */
export interface Rotation {
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/** By path, because several targets may write the same file. Forgotten once nobody writes. */
const writers = new Map<string, Mutex>();

/** Appends whole lines; a failed write leaves no part of them behind. Rejects with the file system's error. */
export function appendLines(path: string, lines: string, rotation: Rotation): Promise<void> {
  const writer = writers.get(path) ?? createMutex();
  writers.set(path, writer);
  const written = writer.run(() => append(path, lines, rotation));
  void writer.idle().then(() => {
    if (writer.isFree() && writers.get(path) === writer) writers.delete(path);
  });
  return written;
}

async function append(path: string, lines: string, rotation: Rotation): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const bytes = Buffer.from(lines, 'utf8');
  const present = await sizeOf(path);
  if (present > 0 && present + bytes.length > rotation.maxBytes) await rotate(path, rotation.maxFiles);
  const file = await open(path, 'a+', 0o640);
  try {
    await writeWhole(file, bytes);
  } finally {
    await file.close();
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 0;
    throw error;
  }
}

async function rotate(path: string, maxFiles: number): Promise<void> {
  const name = (number: number): string => (number === 0 ? path : `${path}.${number}`);
  for (let number = maxFiles - 1; number > 0; number--) {
    try {
      await rename(name(number - 1), name(number));
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
}

/** A line that a crash or a full disk left without its end is closed off first. */
async function writeWhole(file: FileHandle, bytes: Buffer): Promise<void> {
  const { size } = await file.stat();
  const torn = size > 0 && (await lastByte(file, size)) !== NEWLINE;
  try {
    await file.appendFile(torn ? Buffer.concat([Buffer.of(NEWLINE), bytes]) : bytes);
  } catch (error) {
    await file.truncate(size).catch(() => {});
    throw error;
  }
}

const NEWLINE = 0x0a;

async function lastByte(file: FileHandle, size: number): Promise<number | undefined> {
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0];
}
