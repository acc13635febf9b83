import { readFile, rename } from 'node:fs/promises';
import * as z from 'zod';
import { stagePrivateFile } from '../../lib/private-file.ts';

/** Below the data folder: the time of the last heartbeat, in epoch ms by its name. */
export const HEARTBEATS_FILE = 'heartbeats';

const fileSchema = z.record(z.string(), z.number());

/** Reads the file; empty where there is none. */
export async function readHeartbeats(path: string): Promise<ReadonlyMap<string, number>> {
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

export async function writeHeartbeats(path: string, heartbeats: ReadonlyMap<string, number>): Promise<void> {
  await rename(await stagePrivateFile(path, `${JSON.stringify(Object.fromEntries(heartbeats))}\n`), path);
}
