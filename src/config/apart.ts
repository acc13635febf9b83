import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { assemble } from './assemble.ts';
import type { CheckFindings } from './check.ts';
import { FILES, type FileName, type Loaded, type LoadResult, type Sources, type Texts } from './load.ts';
import type { WorkChange } from './prepare.ts';
import { readFileText } from './text.ts';
import { perform, type Work, type WorkResult } from './work.ts';

/** More than this holds a process up for longer than a request should wait. */
const LARGE_CHARACTERS = 256 * 1024;

/** The worker is a bundle even in tests, where this file is not. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/config-worker.js' : './config-worker.js',
  import.meta.url,
);

type Times = Pick<Clock, 'now' | 'monotonic'>;

/** Loads the files as `loadConfiguration` does, without keeping anybody waiting. */
export async function loadApart(sources: Sources, clock: Times): Promise<LoadResult> {
  const texts = textsNow(sources);
  const done = await performApart(
    workOf(sources, texts, secretsIn(sources, Object.values(texts)), undefined),
    clock,
  );
  if (done.kind === 'refused') throw new AppError(done.code, done.message);
  return assemble(done.result, sources, clock);
}

export interface Prepared {
  readonly loaded: Loaded;
  /** The files that read otherwise than now. */
  readonly changed: Texts;
}

/**
 * Works a change out against what is in force and checks the whole of it; writes nothing. Throws `conflict` where only
 * a person can edit, `invalid-request` when the result has errors: those within an item by their paths in it.
 */
export async function prepareApart(
  change: Omit<WorkChange, 'now'>,
  { texts: now }: Loaded,
  sources: Sources,
  clock: Times,
): Promise<Prepared> {
  const added = change.edits.flatMap(({ secrets = [] }) => secrets);
  const overlay = new Map(added.map(({ name, value }) => [name, value]));
  const secretOf = (name: string): string | undefined => overlay.get(name) ?? sources.secretOf?.(name);
  const known = { ...sources, secretOf };
  const values = JSON.stringify(change.edits.map(({ value }) => value));
  const secrets = secretsIn(known, [...Object.values(now), ...Object.values(change.texts), values]);
  const done = await performApart(workOf(known, {}, secrets, { ...change, now }), clock);
  if (done.kind === 'refused') throw new AppError(done.code, done.message, { problems: done.problems });
  const loaded = await assemble(done.result, known, clock);
  if (!done.result.ok || !loaded.ok) throw new Error('a change that was found sound has errors');
  return { loaded, changed: done.result.changed };
}

/**
 * Checks texts, with the other files as they are on disk, for somebody who may not learn what references stand for, or
 * whether files and variables exist: each reference is left alone and warned of.
 */
export async function checkTexts(sources: Sources, texts: Texts, clock: Times): Promise<CheckFindings> {
  const work = workOf(sources, { ...textsNow(sources), ...texts }, undefined, undefined);
  const sealed: Work = { ...work, sources: { ...work.sources, sealed: true }, onlyFindings: true };
  const done = await performApart(sealed, clock);
  if (done.kind === 'refused' || done.result.ok) throw new Error('a check is no change');
  const { problems, warnings } = done.result;
  return { ok: problems.length === 0, errors: problems, warnings };
}

function textsNow({ folder, tenant, texts: given = {} }: Sources): Texts {
  if (tenant !== undefined) return given;
  const texts: Partial<Record<FileName, string>> = {};
  for (const name of FILES) {
    const file = readFileText(join(folder, name));
    if (file.kind === 'text') texts[name] = file.text;
  }
  return texts;
}

const workOf = (
  { folder, environment, flags, tenant }: Sources,
  texts: Texts,
  secrets: Work['secrets'],
  change: Work['change'],
): Work => ({ sources: { folder, environment: { ...environment }, flags, texts, tenant }, secrets, change });

/** The stored secrets that are named anywhere; others need not leave the store. */
function secretsIn({ secretOf }: Sources, texts: readonly string[]): Work['secrets'] {
  if (secretOf === undefined) return undefined;
  const secrets = new Map<string, string>();
  for (const text of texts)
    for (const [, name = ''] of text.matchAll(/\$\{secret:([\w-]+)\}/g)) {
      const value = secretOf(name);
      if (value !== undefined) secrets.set(name, value);
    }
  return secrets;
}

/** Does the work here when it is small, else in a thread of its own that ends with it. */
function performApart(work: Work, clock: Pick<Clock, 'now'>): Promise<WorkResult> {
  const texts = { ...work.sources.texts, ...work.change?.now, ...work.change?.texts };
  const characters = Object.values(texts).reduce((sum, text) => sum + text.length, 0);
  return characters < LARGE_CHARACTERS ? Promise.resolve(perform(work, clock)) : inThread(work);
}

function inThread(work: Work): Promise<WorkResult> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(SCRIPT, { workerData: work });
    worker.once('message', (result: WorkResult) => resolve(result));
    worker.once('error', reject);
    worker.once('exit', code =>
      reject(new Error(`the thread that reads the configuration ended with code ${code}`)),
    );
  });
}
