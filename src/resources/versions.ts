import { basename } from 'node:path';
import * as z from 'zod';
import { grantsOf } from '../auth/actor.ts';
import { FILES, type FileName, type FileTexts } from '../config/configuration.ts';
import { AppError, notFound } from '../lib/errors.ts';
import type {
  ConfigVersionRow,
  ConfigVersionSummary,
  VersionStore,
} from '../storage/stores/configuration.ts';
import type { Call } from './context.ts';
import { type DiffBlock, lineDiff } from './line-diff.ts';
import { pageQuery, pageRequest, toListPage } from './paging.ts';
import { textsFor } from './shown-addresses.ts';
import { defineVerb } from './verb.ts';

/** A configuration that took effect, and which files it changed. */
export interface ConfigVersion {
  readonly metadata: ConfigVersionSummary;
  readonly changes: readonly FileChange[];
}

/** A file that reads otherwise than in the version before; secrets are masked, addresses as `textsFor` says. */
export interface FileChange {
  readonly name: string;
  readonly state: 'created' | 'modified' | 'deleted';
  readonly blocks: readonly DiffBlock[];
}

/** The one branch there is. */
export const BRANCH = 'main';

/** Names a version; without it the newest is meant. */
const commitQuery = z.string().max(64).optional();

const textsSchema = z.partialRecord(z.enum(FILES), z.string());

const textsOf = ({ files }: ConfigVersionRow): FileTexts => textsSchema.parse(JSON.parse(files));

/** Throws `not-found`. */
async function findVersionRow(versions: VersionStore, commit: string | undefined): Promise<ConfigVersionRow> {
  const named = commit !== undefined && commit !== '' && commit !== 'HEAD';
  const row = await (named ? versions.get(commit) : versions.last());
  if (row !== undefined) return row;
  if (named) throw notFound('version', commit);
  throw new AppError('unavailable', 'No version of the configuration is written yet', {
    retryAfterSeconds: 5,
  });
}

/** The version with what it changed, as this caller sees texts. Throws `not-found`. */
async function versionOf(call: Call, commit: string | undefined): Promise<ConfigVersion> {
  const { versions } = call.context.stores;
  const row = await findVersionRow(versions, commit);
  const before = await rowBefore(versions, row.id);
  const { files: _, ...metadata } = row;
  const texts = [before === undefined ? {} : textsOf(before), textsOf(row)] as const;
  return { metadata, changes: changesBetween(texts, await textsFor(call, texts)) };
}

const STEP = 500;

/** How many versions are newer than this one; -1 when there is none of the id. */
async function countNewer(versions: VersionStore, id: string): Promise<number> {
  for (let offset = 0; ; offset += STEP) {
    const { rows, total } = await versions.list({ offset, limit: STEP });
    const index = rows.findIndex(row => row.id === id);
    if (index !== -1) return offset + index;
    if (offset + STEP >= total) return -1;
  }
}

async function rowBefore(versions: VersionStore, id: string): Promise<ConfigVersionRow | undefined> {
  const place = await countNewer(versions, id);
  const { rows } = await versions.list({ offset: place + 1, limit: 1 });
  const [before] = rows;
  return before === undefined ? undefined : versions.get(before.id);
}

/** `shown` is what of both is shown: where a change is all in what is not, there are no lines of it. */
function changesBetween(
  [before, after]: readonly [FileTexts, FileTexts],
  [shownBefore = {}, shownAfter = {}]: readonly FileTexts[],
): FileChange[] {
  return FILES.flatMap(name => {
    const old = before[name];
    const now = after[name];
    if (old === now) return [];
    const state = old === undefined ? 'created' : now === undefined ? 'deleted' : 'modified';
    return [{ name, state, blocks: lineDiff(shownBefore[name] ?? '', shownAfter[name] ?? '') } as const];
  });
}

/** The versions of the configuration, newest first; `count` is how many of them are looked at. */
export const listVersions = defineVerb({
  permission: 'read:settings',
  input: z.object({ ...pageQuery, count: z.coerce.number().int().min(0).optional() }),
  async run({ context }, { count, ...query }) {
    const { offset, limit } = pageRequest(query);
    const most = count === undefined ? limit : Math.max(0, Math.min(limit, count - offset));
    const page =
      most === 0
        ? { rows: [], total: await context.stores.versions.count() }
        : await context.stores.versions.list({ offset, limit: most });
    const total = Math.min(page.total, count ?? page.total);
    return toListPage(query, { rows: page.rows, total }, row => row);
  },
});

const error = 'must be a whole number, 0 for no limit';

/** A version with what it changed; `filename` leaves one file of it. The limit is for who shows it. */
export const showVersion = defineVerb({
  permission: 'read:settings',
  input: z.object({
    commit: commitQuery,
    filename: z.string().max(256).optional(),
    diffLineLimit: z.coerce.number({ error }).int({ error }).min(0, { error }).default(1000),
  }),
  async run(call, { commit, filename, diffLineLimit }) {
    const { metadata, changes } = await versionOf(call, commit);
    const requested = filename === undefined ? changes : changes.filter(({ name }) => name === filename);
    return { version: { metadata, changes: requested }, lineLimit: diffLineLimit };
  },
});

/** How many files read otherwise than in a version, which `commit` or `ID` names; without either than in the newest. */
export const countChangedFiles = defineVerb({
  permission: 'read:settings',
  input: z.object({ commit: commitQuery, ID: commitQuery.describe('Another name of `commit`.') }),
  async run({ context }, { commit, ID = commit }) {
    const { versions } = context.stores;
    const then = textsOf(await findVersionRow(versions, ID));
    const now = textsOf(await findVersionRow(versions, undefined));
    return { count: FILES.filter(name => then[name] !== now[name]).length };
  },
});

/** Files that are not active as they are on disk, because of errors in them. All else is a version already. */
export const getVersionStatus = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run({ context }) {
    const { errors } = context.configurationStatus();
    return { broken: [...new Set(errors.map(({ file }) => basename(file)))] };
  },
});

/** The one branch; versions follow each other and never part. */
export const getBranch = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run: () => ({ branch: BRANCH }),
});

/** Answers the newest version: whatever takes effect is one at once, so that nothing is ever left to commit. */
export const commitVersion = defineVerb({
  permission: 'update:settings',
  input: z.object({
    body: z
      .object({
        message: z.string().max(4096).optional(),
        effective: z.boolean().optional(),
        files: z.array(z.string().max(1024)).max(1000).optional(),
      })
      .optional(),
  }),
  run: call => versionOf(call, undefined),
});

/** Discards nothing: whatever takes effect is a version at once, so that no change ever waits. */
export const undoChanges = defineVerb({
  permission: 'update:settings',
  input: z.object({ body: z.object({}).optional() }),
  run: (): undefined => undefined,
});

/**
 * Makes the files read as they did in a version, with the secrets that are stored now. Files that were not there then
 * become empty. Throws `not-found`, and as `context.save` does: a secret does not go back to where it was sent
 * before unless it is the one that was entered for that.
 */
export const revertVersion = defineVerb({
  permission: 'update:settings',
  input: z.object({
    body: z.object({
      commit: z.string().min(1).max(64),
      message: z.string().max(4096).optional(),
      force: z.boolean().optional(),
    }),
  }),
  async run(call, { body: { commit, message } }) {
    const { actor, context } = call;
    const { versions } = context.stores;
    const row = await findVersionRow(versions, commit);
    const before = await findVersionRow(versions, undefined);
    const texts: Partial<Record<FileName, string>> = { ...textsOf(row) };
    for (const name of FILES) texts[name] ??= '';
    await context.save({
      author: actor.name,
      source: 'api',
      message: message ?? `back to ${row.id}`,
      sent: { texts, mayRefer: grantsOf(actor).has('update:settings') },
    });
    const version = await versionOf(call, undefined);
    return { version, reverted: version.metadata.id !== before.id };
  },
});
