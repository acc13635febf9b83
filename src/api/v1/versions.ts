import * as z from 'zod';
import { type DiffBlock, type DiffLine, headerOf, shown, unifiedText } from '../../resources/line-diff.ts';
import {
  BRANCH,
  type ConfigVersion,
  commitVersion,
  countChangedFiles,
  type FileChange,
  getBranch,
  getVersionStatus,
  listVersions,
  revertVersion,
  showVersion,
  undoChanges,
} from '../../resources/versions.ts';
import { isoTime, item, list, optional } from '../envelope.ts';
import type { RouteAnswer, Shape } from '../operation.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';

const line = z.object({
  type: z.enum(['context', 'insert', 'delete']),
  content: z.string(),
  oldNumber: z.int().optional(),
  newNumber: z.int().optional(),
});
const block = z.object({
  header: z.string(),
  oldStartLine: z.int(),
  newStartLine: z.int(),
  lines: z.array(line),
});
const fileChange = z.object({
  oldName: z.string(),
  newName: z.string(),
  language: z.literal('yml'),
  isCombined: z.literal(false),
  isGitDiff: z.literal(true),
  isNew: z.boolean(),
  isDeleted: z.boolean(),
  isTooBig: z.boolean().describe('Whether its lines are left out, being more than the limit.'),
  addedLines: z.int(),
  deletedLines: z.int(),
  blocks: z.array(block),
});
const diffSchema = z.object({
  diffJson: z.array(fileChange),
  diff: z.string().describe('The same as text, as diff -u writes it.'),
});
const diffShape: Shape = { name: 'VersionDiff', schema: diffSchema };

/** A version, and how many changed lines of a file to show. */
interface ShownVersion {
  readonly version: ConfigVersion;
  readonly lineLimit: number;
}

/** A file with more changed lines than the limit comes without them. 0 is no limit. */
const wireDiff = ({ version: { changes }, lineLimit }: ShownVersion): z.output<typeof diffSchema> => ({
  diffJson: changes.map(change => wireChange(change, lineLimit)),
  diff: changes.map(change => unifiedFile(change, lineLimit)).join(''),
});

function wireChange(change: FileChange, lineLimit: number): z.output<typeof fileChange> {
  const { state, blocks } = change;
  const isTooBig = isOver(change, lineLimit);
  const [oldName, newName] = namesOf(change);
  return {
    oldName,
    newName,
    language: 'yml',
    isCombined: false,
    isGitDiff: true,
    isNew: state === 'created',
    isDeleted: state === 'deleted',
    isTooBig,
    addedLines: countOf(change, 'insert'),
    deletedLines: countOf(change, 'delete'),
    blocks: isTooBig ? [] : blocks.map(wireBlock),
  };
}

const wireBlock = (from: DiffBlock): z.output<typeof block> => ({
  header: headerOf(from),
  oldStartLine: from.oldStart,
  newStartLine: from.newStart,
  lines: from.lines.map(one => ({
    type: one.kind,
    content: shown(one),
    ...('old' in one && { oldNumber: one.old }),
    ...('new' in one && { newNumber: one.new }),
  })),
});

function unifiedFile(change: FileChange, lineLimit: number): string {
  if (isOver(change, lineLimit)) return '';
  const [oldName, newName] = namesOf(change);
  const from = oldName === NO_FILE ? oldName : `a/${oldName}`;
  const to = newName === NO_FILE ? newName : `b/${newName}`;
  return `--- ${from}\n+++ ${to}\n${unifiedText(change.blocks)}\n`;
}

const NO_FILE = '/dev/null';

const namesOf = ({ name, state }: FileChange): [string, string] => [
  state === 'created' ? NO_FILE : name,
  state === 'deleted' ? NO_FILE : name,
];

const isOver = (change: FileChange, lineLimit: number): boolean =>
  lineLimit > 0 && countOf(change, 'insert') + countOf(change, 'delete') > lineLimit;

/** Counts the lines that a change adds or deletes. */
const countOf = ({ blocks }: FileChange, kind: DiffLine['kind']): number =>
  blocks.reduce((sum, { lines }) => sum + lines.filter(one => one.kind === kind).length, 0);

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
const versionShape: Shape = { name: 'Version', schema: version };

/** Cribl-compatible tools speak of commits; here a version's id serves as the hash. */
const wireVersion = (facts: ConfigVersion['metadata']): z.output<typeof version> => ({
  hash: facts.id,
  short: facts.id.slice(-12),
  date: isoTime(facts.created_at),
  message: subjectOf(facts),
  body: '',
  refs: '',
  author_name: facts.author,
  author_email: '',
  headgate: { door: facts.source },
});

const DEFAULT_SUBJECT = {
  api: 'Changed over the API',
  cli: 'Changed by the command line',
  page: 'Changed on the page',
  file: 'Changed in the file',
} as const;

const subjectOf = ({ message, source }: ConfigVersion['metadata']): string =>
  message ?? DEFAULT_SUBJECT[source];

const show = diffSchema.extend({ commitMessage: z.string(), commit: version });
const showShape: Shape = { name: 'VersionDetail', schema: show };

const wireShow = (shownVersion: ShownVersion): z.output<typeof show> => ({
  commitMessage: subjectOf(shownVersion.version.metadata),
  commit: wireVersion(shownVersion.version.metadata),
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
const commitShape: Shape = { name: 'Commit', schema: commit };

function wireCommit({ metadata: facts, changes }: ConfigVersion): z.output<typeof commit> {
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
const revertShape: Shape = { name: 'Revert', schema: revert };

interface Reverted {
  readonly version: ConfigVersion;
  readonly reverted: boolean;
}

const wireRevert = ({
  version: { metadata: facts, changes },
  reverted,
}: Reverted): z.output<typeof revert> => ({
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
const filesShape: Shape = { name: 'VersionFiles', schema: files };

const wireFiles = ({ version: { metadata: facts, changes } }: ShownVersion): z.output<typeof files> => ({
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
const versionStatusShape: Shape = { name: 'VersionStatus', schema: status };

/** Nothing is ever staged: only files with errors are pending. */
const wireStatus = ({ broken }: { readonly broken: readonly string[] }): z.output<typeof status> => ({
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
const branchShape: Shape = { name: 'Branch', schema: branch };

const wireBranch = (one: { readonly branch: string }): z.output<typeof branch> => ({ id: one.branch });

const named = z.object({ branch: z.string() });
const currentBranch = named.extend({
  items: z.array(named).describe('The same once more, for clients that read a list.'),
  count: z.literal(1),
});
/** Some Cribl-compatible clients read the bare object and some a list, as two documents have it. */
const currentBranchAnswer: RouteAnswer<z.output<typeof named>> = {
  kind: 'object',
  shape: { name: 'CurrentBranch', schema: currentBranch },
  make: ({ branch: name }): z.output<typeof currentBranch> => ({
    branch: name,
    items: [{ branch: name }],
    count: 1,
  }),
};

const counted = z.object({ count: z.int().min(0) });
const countShape: Shape = { name: 'VersionCount', schema: counted };

const wireCount = (one: { readonly count: number }): z.output<typeof counted> => one;

const keeping = z.object({
  versioning: z.literal(true),
  remote: z.string().describe('Empty: they are kept nowhere else.'),
});
const keepingShape: Shape = { name: 'VersionInfo', schema: keeping };

const wireKeeping = (): z.output<typeof keeping> => ({ versioning: true, remote: '' });

/** Cribl-compatible clients also use these paths below a group; all groups share one history. */
const read = { method: 'GET', grouped: true } as const;
const write = { method: 'POST', grouped: true } as const;

export const versionRoutes: readonly Route[] = [
  route({
    ...read,
    id: 'versions.list',
    path: '/version',
    summary: 'List the versions of the configuration, newest first',
    verb: listVersions,
    answer: list(versionShape, wireVersion),
    example: { query: { count: '1' } },
  }),
  route({
    ...read,
    id: 'versions.branches',
    path: '/version/branch',
    summary: 'List the branches of versions: there is one',
    verb: getBranch,
    answer: item(branchShape, wireBranch),
  }),
  route({
    ...read,
    id: 'versions.currentBranch',
    path: '/version/current-branch',
    summary: 'Get the active branch',
    verb: getBranch,
    answer: currentBranchAnswer,
  }),
  route({
    ...read,
    id: 'versions.count',
    path: '/version/count',
    summary: 'Count the files that read otherwise than in a version',
    description: 'Without one 0: what takes effect is a version at once, so that nothing waits for a commit.',
    verb: countChangedFiles,
    answer: item(countShape, wireCount),
    errors: ['not-found'],
  }),
  route({
    ...read,
    id: 'versions.diff',
    path: '/version/diff',
    summary: 'Get what a version changed, the newest by default',
    verb: showVersion,
    answer: item(diffShape, wireDiff),
    errors: ['not-found'],
    example: { query: { filename: 'notifications.yml', diffLineLimit: '5' } },
  }),
  route({
    ...read,
    id: 'versions.files',
    path: '/version/files',
    summary: 'List the files a version changed',
    verb: showVersion,
    answer: item(filesShape, wireFiles),
    errors: ['not-found'],
  }),
  route({
    ...read,
    id: 'versions.info',
    path: '/version/info',
    summary: 'Report that versions are kept, and nowhere else',
    verb: getBranch,
    answer: item(keepingShape, wireKeeping),
  }),
  route({
    ...read,
    id: 'versions.show',
    path: '/version/show',
    summary: 'Get a version and what it changed',
    verb: showVersion,
    answer: item(showShape, wireShow),
    errors: ['not-found'],
    example: { query: { filename: 'notifications.yml', diffLineLimit: '5' } },
  }),
  route({
    ...read,
    id: 'versions.status',
    path: '/version/status',
    summary: 'List the files that are not active because of errors; nothing else is ever pending',
    verb: getVersionStatus,
    answer: item(versionStatusShape, wireStatus),
  }),
  route({
    ...write,
    id: 'versions.commit',
    path: '/version/commit',
    summary: 'Get the newest version: whatever takes effect is one already',
    verb: commitVersion,
    takes: { shape: { name: 'CommitRequest' } },
    answer: item(commitShape, wireCommit),
  }),
  route({
    ...write,
    id: 'versions.undo',
    path: '/version/undo',
    summary: 'Always empty: nothing waits for a commit that could be discarded',
    verb: undoChanges,
    takes: { shape: { name: 'UndoRequest' } },
    answer: optional({ name: 'UndoneChange', schema: z.object({}) }, (one: object) => one),
    example: { body: {} },
  }),
  route({
    ...write,
    id: 'versions.revert',
    path: '/version/revert',
    summary: 'Make the files read as in a version, with the secrets that are stored now',
    verb: revertVersion,
    takes: { shape: { name: 'RevertRequest' } },
    answer: item(revertShape, wireRevert),
    errors: ['not-found', ...WRITE_ERRORS],
    example: { body: { commit: '{version}' } },
  }),
];
