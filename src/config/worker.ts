import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { ConfigEdit, ConfigurationPlan, NewSecret, SentTexts, WantedConfiguration } from './change.ts';
import type { CheckThread } from './check-thread.ts';
import { type CheckFindings, FILES, type FileName, type FileTexts, type HidingJob } from './configuration.ts';
import { readFileText } from './file-text.ts';
import { assemble, type Loaded, type LoadResult, valuesOf } from './load.ts';
import type { Sources } from './read/configuration.ts';
import { hideAddressesInTexts } from './secrets/addresses.ts';
import { type CheckedJob, performJob, type WorkerJob, type WorkerResult } from './worker-job.ts';
import { mayHoldAliases, mostValuesIn } from './yaml/structure.ts';

/** More than this may hold a process up for longer than others should wait: `bench/config.ts` prints how long. */
export const LARGE_CHARACTERS = 16 * 1024;
export const LARGE_VALUES = 500;

type Times = Pick<Clock, 'now' | 'monotonic'>;

/**
 * Loads the files as `loadConfiguration` does, without keeping anybody waiting. The operator's files wait for nobody; those
 * of workspaces, of which there are many, are loaded one at a time.
 */
export async function loadWithWorker(
  sources: Sources,
  clock: Times,
  thread: Pick<CheckThread, 'load' | 'loadAtOnce'>,
): Promise<LoadResult> {
  const texts = textsNow(sources);
  const done = await runJob(
    jobOf(sources, texts, secretsIn(sources, Object.values(texts)), undefined),
    sources.restrictions === undefined ? thread.loadAtOnce : thread.load,
  );
  if (done.kind === 'refused') throw new AppError(done.code, done.message);
  return done.result.ok ? loadedFrom(done.result, sources, clock) : done.result;
}

async function loadedFrom(checked: CheckedJob, sources: Sources, clock: Times): Promise<Loaded> {
  const { data, texts, masked, values = await valuesOf(data, texts, sources, clock) } = checked;
  return { ...assemble(checked, values, clock), masked };
}

/** A change with the secrets that its edits refer to and that are not stored yet. */
export interface RequestedChange {
  readonly edits: readonly ConfigEdit[];
  readonly sent?: SentTexts;
  readonly wanted?: WantedConfiguration;
  readonly secrets: readonly NewSecret[];
}

export interface PreparedChange {
  /** Those of the edits, and those that stood in the texts in clear. */
  readonly secrets: readonly NewSecret[];
  readonly loaded: Loaded;
  /** The files that read otherwise than now. */
  readonly changed: FileTexts;
  /** Of a wanted configuration. */
  readonly plan?: ConfigurationPlan;
}

/**
 * Works a change out on the active configuration and checks the whole of it; writes nothing. Throws `conflict` where only
 * a person can edit, `invalid-request` when the result has errors: those within an item by their paths in it; for texts
 * that were sent also as `applySecretRulesToTexts` does.
 */
export async function prepareWithWorker(
  { edits, sent, wanted, secrets: added }: RequestedChange,
  { texts: now }: Loaded,
  stored: Sources,
  { clock, thread }: { readonly clock: Times; readonly thread: CheckThread },
): Promise<PreparedChange> {
  const overlay = new Map(added.map(({ name, value }) => [name, value]));
  const secretOf = (name: string): string | undefined => overlay.get(name) ?? stored.secretOf?.(name);
  const sources = { ...stored, secretOf };
  const values = JSON.stringify(edits.map(({ value }) => value));
  const texts = [...Object.values(now), ...Object.values(sent?.texts ?? {}), ...textsOfWanted(wanted)];
  const secrets = secretsIn(sources, [...texts, values]);
  const done = await runJob(jobOf(sources, {}, secrets, { edits, sent, wanted, now }), job =>
    thread.run(`change of ${sources.folder}`, job),
  );
  if (done.kind === 'refused') throw new AppError(done.code, done.message, { problems: done.problems });
  if (!done.result.ok) throw new Error('a change that was found sound has errors');
  const { changed, secrets: found, plan } = done.result;
  for (const { name, value } of found) overlay.set(name, value);
  const loaded = await loadedFrom(done.result, sources, clock);
  return { loaded, changed, secrets: [...added, ...found], ...(plan && { plan }) };
}

const textsOfWanted = (wanted: WantedConfiguration | undefined): string[] =>
  wanted?.documents.map(({ text }) => text) ?? [];

/**
 * Checks texts, with the other files as they are on disk, for somebody who may not learn what references stand for, or
 * whether files and variables exist: each reference is left alone and warned of.
 */
export async function checkTexts(
  sources: Sources,
  texts: FileTexts,
  thread: CheckThread,
): Promise<CheckFindings> {
  const job = jobOf(sources, { ...textsNow(sources), ...texts }, undefined, undefined);
  const sealed: WorkerJob = {
    ...job,
    sources: { ...job.sources, sealed: true },
    checked: FILES.filter(name => texts[name] !== undefined),
  };
  const done = await runJob(sealed, large => thread.run(`check of ${sources.folder}`, large));
  if (done.kind === 'refused' || done.result.ok) throw new Error('a check is no change');
  const { problems, warnings } = done.result;
  return { ok: problems.length === 0, errors: problems, warnings };
}

/** Hides addresses in texts. Rejects as `CheckThread.hide` does. */
export function hideAddressesWithWorker(
  { folder }: Pick<Sources, 'folder'>,
  job: HidingJob,
  thread: Pick<CheckThread, 'hide'>,
): Promise<FileTexts[]> {
  const texts = job.texts.flatMap(one => job.files.flatMap(name => one[name] ?? []));
  return areLarge(texts) ? thread.hide(`view of ${folder}`, job) : Promise.resolve(hideAddressesInTexts(job));
}

function textsNow({ folder, restrictions, texts: given = {} }: Sources): FileTexts {
  if (restrictions !== undefined) return given;
  const texts: Partial<Record<FileName, string>> = {};
  for (const name of FILES) {
    const file = readFileText(join(folder, name));
    if (file.kind === 'text') texts[name] = file.text;
  }
  return texts;
}

const jobOf = (
  { folder, environment, flags, restrictions }: Sources,
  texts: FileTexts,
  secrets: WorkerJob['secrets'],
  change: WorkerJob['change'],
): WorkerJob => ({
  sources: { folder, environment: { ...environment }, flags, texts, restrictions },
  secrets,
  change,
});

/** The stored secrets that are named anywhere; others need not leave the store. */
function secretsIn({ secretOf }: Sources, texts: readonly string[]): WorkerJob['secrets'] {
  if (secretOf === undefined) return undefined;
  const secrets = new Map<string, string>();
  for (const text of texts)
    for (const [, name = ''] of text.matchAll(/\$\{secret:([\w-]+)\}/g)) {
      const value = secretOf(name);
      if (value !== undefined) secrets.set(name, value);
    }
  return secrets;
}

/** Does the work here when it is small, else in a thread. */
function runJob(job: WorkerJob, runLarge: (job: WorkerJob) => Promise<WorkerResult>): Promise<WorkerResult> {
  return isLarge(job) ? runLarge(job) : Promise.resolve(performJob(job));
}

function isLarge({ sources, change }: WorkerJob): boolean {
  const texts = [
    ...Object.values({ ...sources.texts, ...change?.now, ...change?.sent?.texts }),
    ...textsOfWanted(change?.wanted),
  ];
  return areLarge(change === undefined ? texts : [...texts, JSON.stringify(change.edits)]);
}

function areLarge(all: readonly string[]): boolean {
  const sum = (countOf: (text: string) => number): number =>
    all.reduce((total, text) => total + countOf(text), 0);
  // Characters first: values are only counted in what is short.
  return (
    sum(text => text.length) >= LARGE_CHARACTERS ||
    sum(mostValuesIn) >= LARGE_VALUES ||
    all.some(mayHoldAliases)
  );
}
