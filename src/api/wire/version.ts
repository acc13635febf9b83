import * as z from 'zod';
import { BRANCH, type FileChange, type Version } from '../../resources/version/version.ts';
import { isoTime } from '../envelope.ts';
import type { Shape } from '../shape.ts';
import { countOf, diff, type ShownVersion, wireDiff } from './version-diff.ts';

const version = z.object({
  hash: z.string().describe('Id of the version.'),
  short: z.string().describe('The end of it.'),
  date: z.iso.datetime(),
  message: z.string(),
  body: z.string(),
  refs: z.string(),
  author_name: z.string(),
  author_email: z.string(),
  headgate: z
    .object({ door: z.enum(['api', 'cli', 'page', 'file']).describe('Where the change came in.') })
    .describe('What Headgate knows of it.'),
});
export const versionShape: Shape = { name: 'Version', schema: version };

/** The family's tools speak of commits; ours are versions, and their hash is an id. */
export const wireVersion = (facts: Version['facts']): z.output<typeof version> => ({
  hash: facts.id,
  short: facts.id.slice(-12),
  date: isoTime(facts.created_at),
  message: subjectOf(facts),
  body: '',
  refs: '',
  author_name: facts.author,
  author_email: '',
  headgate: { door: facts.door },
});

const DEFAULT_SUBJECT = {
  api: 'Changed over the API',
  cli: 'Changed by the command line',
  page: 'Changed on the page',
  file: 'Changed in the file',
} as const;

const subjectOf = ({ message, door }: Version['facts']): string => message ?? DEFAULT_SUBJECT[door];

const show = diff.extend({ commitMessage: z.string(), commit: version });
export const showShape: Shape = { name: 'VersionDetail', schema: show };

export const wireShow = (shownVersion: ShownVersion): z.output<typeof show> => ({
  commitMessage: subjectOf(shownVersion.version.facts),
  commit: wireVersion(shownVersion.version.facts),
  ...wireDiff(shownVersion),
});

const names = z.array(z.string());
const fileNames = z.object({ created: names, modified: names, deleted: names, renamed: names });
const commit = z.object({
  branch: z.string(),
  commit: z.string().describe('Id of the version.'),
  author: z.object({ name: z.string(), email: z.string() }),
  files: fileNames,
  summary: z.object({ changes: z.int(), insertions: z.int(), deletions: z.int() }),
});
export const commitShape: Shape = { name: 'Commit', schema: commit };

export function wireCommit({ facts, changes }: Version): z.output<typeof commit> {
  const insertions = changes.reduce((sum, change) => sum + countOf(change, 'insert'), 0);
  const deletions = changes.reduce((sum, change) => sum + countOf(change, 'delete'), 0);
  return {
    branch: BRANCH,
    commit: facts.id,
    author: { name: facts.author, email: '' },
    files: wireFileNames(changes),
    summary: { changes: changes.length, insertions, deletions },
  };
}

const revert = z.object({
  reverted: z.boolean().describe('False when the files read so already.'),
  audit: z.object({ id: z.string().describe('Id of the newest version.'), files: fileNames }),
});
export const revertShape: Shape = { name: 'Revert', schema: revert };

interface Reverted {
  readonly version: Version;
  readonly reverted: boolean;
}

export const wireRevert = ({ version: { facts, changes }, reverted }: Reverted): z.output<typeof revert> => ({
  reverted,
  audit: { id: facts.id, files: wireFileNames(reverted ? changes : []) },
});

function wireFileNames(changes: readonly FileChange[]): z.output<typeof fileNames> {
  const those = (state: FileChange['state']): string[] =>
    changes.filter(change => change.state === state).map(({ name }) => name);
  return { created: those('created'), modified: those('modified'), deleted: those('deleted'), renamed: [] };
}

const STATE_LETTERS = { created: 'A', modified: 'M', deleted: 'D' } as const;

const files = z.object({
  commitMessage: z.object({ message: z.string(), hash: z.string() }),
  count: z.int(),
  items: z.array(
    z.object({ name: z.string(), state: z.enum(['A', 'M', 'D']).describe('Added, modified or deleted.') }),
  ),
});
export const filesShape: Shape = { name: 'VersionFiles', schema: files };

export const wireFiles = ({ version: { facts, changes } }: ShownVersion): z.output<typeof files> => ({
  commitMessage: { message: subjectOf(facts), hash: facts.id },
  count: changes.length,
  items: changes.map(({ name, state }) => ({ name, state: STATE_LETTERS[state] })),
});

const status = z.object({
  current: z.string().describe('The branch.'),
  ahead: z.int(),
  behind: z.int(),
  files: z.array(z.object({ path: z.string(), index: z.string(), working_dir: z.string() })),
  not_added: names,
  conflicted: names,
  created: names,
  deleted: names,
  modified: names,
  renamed: names,
  staged: names,
});
export const versionStatusShape: Shape = { name: 'VersionStatus', schema: status };

/** Nothing is ever staged: only files with errors wait. */
export const wireStatus = ({ broken }: { readonly broken: readonly string[] }): z.output<typeof status> => ({
  current: BRANCH,
  ahead: 0,
  behind: 0,
  files: broken.map(path => ({ path, index: ' ', working_dir: 'M' })),
  not_added: [...broken],
  conflicted: [],
  created: [],
  deleted: [],
  modified: [],
  renamed: [],
  staged: [],
});

const branch = z.object({ id: z.string() });
export const branchShape: Shape = { name: 'Branch', schema: branch };

export const wireBranch = (one: { readonly branch: string }): z.output<typeof branch> => ({ id: one.branch });

const currentBranch = z.object({ branch: z.string() });
export const currentBranchShape: Shape = { name: 'CurrentBranch', schema: currentBranch };

export const wireCurrentBranch = (one: { readonly branch: string }): z.output<typeof currentBranch> => one;

const counted = z.object({ count: z.int().min(0) });
export const countShape: Shape = { name: 'VersionCount', schema: counted };

export const wireCount = (one: { readonly count: number }): z.output<typeof counted> => one;

const keeping = z.object({
  versioning: z.literal(true),
  remote: z.string().describe('Empty: they are kept nowhere else.'),
});
export const keepingShape: Shape = { name: 'VersionInfo', schema: keeping };

export const wireKeeping = (): z.output<typeof keeping> => ({ versioning: true, remote: '' });
