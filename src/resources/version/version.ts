import * as z from 'zod';
import { FILES, type Texts } from '../../config/load.ts';
import { AppError, notFound } from '../../lib/errors.ts';
import type { ConfigVersionFacts, ConfigVersionRow, VersionStore } from '../../storage/storage.ts';
import { type DiffBlock, lineDiff } from './line-diff.ts';

/** A configuration that took effect, and which files it changed. */
export interface Version {
  readonly facts: ConfigVersionFacts;
  readonly changes: readonly FileChange[];
}

/** A file that reads otherwise than in the version before; secrets are masked. */
export interface FileChange {
  readonly name: string;
  readonly state: 'created' | 'modified' | 'deleted';
  readonly blocks: readonly DiffBlock[];
}

/** The one branch there is. */
export const BRANCH = 'main';

/** Names a version; without it the newest is meant. */
export const commitQuery = z.string().max(64).optional();

const textsSchema = z.partialRecord(z.enum(FILES), z.string());

export const textsOf = ({ files }: ConfigVersionRow): Texts => textsSchema.parse(JSON.parse(files));

/** Throws `not-found`. */
export async function rowOf(versions: VersionStore, commit: string | undefined): Promise<ConfigVersionRow> {
  const named = commit !== undefined && commit !== '' && commit !== 'HEAD';
  const row = await (named ? versions.get(commit) : versions.last());
  if (row !== undefined) return row;
  if (named) throw notFound('version', commit);
  throw new AppError('unavailable', 'No version of the configuration is written yet', {
    retryAfterSeconds: 5,
  });
}

/** The version with what it changed. Throws `not-found`. */
export async function versionOf(versions: VersionStore, commit: string | undefined): Promise<Version> {
  const row = await rowOf(versions, commit);
  const before = await rowBefore(versions, row.id);
  const { files: _, ...facts } = row;
  return { facts, changes: changesBetween(before === undefined ? {} : textsOf(before), textsOf(row)) };
}

const STEP = 500;

/** How many versions are newer than this one; -1 when there is none of the id. */
export async function placeOf(versions: VersionStore, id: string): Promise<number> {
  for (let offset = 0; ; offset += STEP) {
    const { rows, total } = await versions.list({ offset, limit: STEP });
    const index = rows.findIndex(row => row.id === id);
    if (index !== -1) return offset + index;
    if (offset + STEP >= total) return -1;
  }
}

async function rowBefore(versions: VersionStore, id: string): Promise<ConfigVersionRow | undefined> {
  const place = await placeOf(versions, id);
  const { rows } = await versions.list({ offset: place + 1, limit: 1 });
  const [before] = rows;
  return before === undefined ? undefined : versions.get(before.id);
}

function changesBetween(before: Texts, after: Texts): FileChange[] {
  return FILES.flatMap(name => {
    const old = before[name];
    const now = after[name];
    if (old === now) return [];
    const state = old === undefined ? 'created' : now === undefined ? 'deleted' : 'modified';
    return [{ name, state, blocks: lineDiff(old ?? '', now ?? '') } as const];
  });
}
