import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Configuration } from '../../src/config/configuration.ts';
import { type LoadResult, loadConfiguration } from '../../src/config/load.ts';
import { type ConfigProblem, formatProblem } from '../../src/config/problems.ts';

/** A folder with these configuration files, which goes when the test has finished. */
export function configFolder(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** What a configuration is made of: texts of the files, environment, flags, what the store knows if there is one. */
export interface Given {
  readonly settings?: string;
  readonly notifications?: string;
  readonly inputs?: string;
  readonly outputs?: string;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly flags?: Readonly<Record<string, string>>;
}

/** Loads it on 2026-01-01. */
export function loadGiven(given: Given): LoadResult {
  const { settings, notifications, inputs, outputs, secrets, environment = {}, flags = {} } = given;
  const folder = configFolder({
    ...(settings !== undefined && { 'headgate.yml': settings }),
    ...(notifications !== undefined && { 'notifications.yml': notifications }),
    ...(inputs !== undefined && { 'inputs.yml': inputs }),
    ...(outputs !== undefined && { 'outputs.yml': outputs }),
  });
  const secretOf = secrets === undefined ? undefined : (name: string) => secrets[name];
  return loadConfiguration({ folder, environment, flags, secretOf }, { now: () => Date.UTC(2026, 0, 1) });
}

/** Problems as lines, without the folder, which differs each time. */
export const problemLines = (problems: readonly ConfigProblem[]): string[] =>
  problems.map(problem => formatProblem({ ...problem, file: problem.file.replace(/^.*\//, '') }));

export function errorsOf(given: Given): string[] {
  const result = loadGiven(given);
  return result.ok ? [] : problemLines(result.problems);
}

export const warningsOf = (given: Given): string[] => problemLines(loadGiven(given).warnings);

/** The configuration; throws what is wrong with it. */
export function configurationOf(given: Given): Configuration {
  const result = loadGiven(given);
  if (!result.ok) throw new Error(problemLines(result.problems).join('\n'));
  return result.configuration;
}
