import {
  type DiffBlock,
  type DiffLine,
  headerOf,
  shown,
  unifiedText,
} from '../../resources/version/line-diff.ts';
import { BRANCH, type FileChange, type Version } from '../../resources/version/version.ts';
import { isoTime } from '../envelope.ts';

/** The family's tools speak of commits; ours are versions, and their hash is an id. */
export const wireVersion = (facts: Version['facts']): object => ({
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

/** What a version changed; a file with more changed lines than the limit comes without them. 0 is no limit. */
export const wireDiff = ({ changes }: Version, lineLimit: number): object => ({
  diffJson: changes.map(change => wireChange(change, lineLimit)),
  diff: changes.map(change => unifiedFile(change, lineLimit)).join(''),
});

export const wireShow = (version: Version, lineLimit: number): object => ({
  commitMessage: subjectOf(version.facts),
  commit: wireVersion(version.facts),
  ...wireDiff(version, lineLimit),
});

function wireChange(change: FileChange, lineLimit: number): object {
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

const wireBlock = (block: DiffBlock): object => ({
  header: headerOf(block),
  oldStartLine: block.oldStart,
  newStartLine: block.newStart,
  lines: block.lines.map(line => ({
    type: line.kind,
    content: shown(line),
    ...('old' in line && { oldNumber: line.old }),
    ...('new' in line && { newNumber: line.new }),
  })),
});

function unifiedFile(change: FileChange, lineLimit: number): string {
  if (isOver(change, lineLimit)) return '';
  const [oldName, newName] = namesOf(change);
  const from = oldName === NOTHING ? oldName : `a/${oldName}`;
  const to = newName === NOTHING ? newName : `b/${newName}`;
  return `--- ${from}\n+++ ${to}\n${unifiedText(change.blocks)}\n`;
}

const NOTHING = '/dev/null';

const namesOf = ({ name, state }: FileChange): [string, string] => [
  state === 'created' ? NOTHING : name,
  state === 'deleted' ? NOTHING : name,
];

const isOver = (change: FileChange, lineLimit: number): boolean =>
  lineLimit > 0 && countOf(change, 'insert') + countOf(change, 'delete') > lineLimit;

const countOf = ({ blocks }: FileChange, kind: DiffLine['kind']): number =>
  blocks.reduce((sum, { lines }) => sum + lines.filter(line => line.kind === kind).length, 0);

export function wireCommit(version: Version): object {
  const { facts, changes } = version;
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

export const wireRevert = ({ version, reverted }: { version: Version; reverted: boolean }): object => ({
  reverted,
  audit: { id: version.facts.id, files: wireFileNames(reverted ? version.changes : []) },
});

function wireFileNames(changes: readonly FileChange[]): object {
  const names = (state: FileChange['state']): string[] =>
    changes.filter(change => change.state === state).map(({ name }) => name);
  return { created: names('created'), modified: names('modified'), deleted: names('deleted'), renamed: [] };
}

const STATE_LETTERS = { created: 'A', modified: 'M', deleted: 'D' } as const;

export const wireFiles = ({ facts, changes }: Version): object => ({
  commitMessage: { message: subjectOf(facts), hash: facts.id },
  count: changes.length,
  items: changes.map(({ name, state }) => ({ name, state: STATE_LETTERS[state] })),
});

/** Nothing is ever staged: only files with errors wait. */
export const wireStatus = ({ broken }: { readonly broken: readonly string[] }): object => ({
  current: BRANCH,
  ahead: 0,
  behind: 0,
  files: broken.map(path => ({ path, index: ' ', working_dir: 'M' })),
  not_added: broken,
  conflicted: [],
  created: [],
  deleted: [],
  modified: [],
  renamed: [],
  staged: [],
});
