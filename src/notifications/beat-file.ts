import { readFile, rename } from 'node:fs/promises';
import * as z from 'zod';
import { stagePrivateFile } from '../lib/private-file.ts';

/** Below the data folder: when each heartbeat came last, in epoch ms by its name. */
export const BEATS_FILE = 'heartbeats';

const schema = z.record(z.string(), z.number());

/** Empty where there is no file. */
export async function readBeats(path: string): Promise<ReadonlyMap<string, number>> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return new Map();
    throw error;
  }
  const read: unknown = JSON.parse(text);
  return new Map(Object.entries(schema.parse(read)));
}

export async function writeBeats(path: string, beats: ReadonlyMap<string, number>): Promise<void> {
  await rename(await stagePrivateFile(path, `${JSON.stringify(Object.fromEntries(beats))}\n`), path);
}
