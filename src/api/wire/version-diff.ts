import * as z from 'zod';
import {
  type DiffBlock,
  type DiffLine,
  headerOf,
  shown,
  unifiedText,
} from '../../resources/version/line-diff.ts';
import type { FileChange, Version } from '../../resources/version/version.ts';
import type { Shape } from '../shape.ts';

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
export const diff = z.object({
  diffJson: z.array(fileChange),
  diff: z.string().describe('The same as text, as diff -u writes it.'),
});
export const diffShape: Shape = { name: 'VersionDiff', schema: diff };

/** A version, and how many changed lines of a file are shown. */
export interface ShownVersion {
  readonly version: Version;
  readonly lineLimit: number;
}

/** What a version changed; a file with more changed lines than the limit comes without them. 0 is no limit. */
export const wireDiff = ({ version: { changes }, lineLimit }: ShownVersion): z.output<typeof diff> => ({
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

/** How many lines a change adds or takes away. */
export const countOf = ({ blocks }: FileChange, kind: DiffLine['kind']): number =>
  blocks.reduce((sum, { lines }) => sum + lines.filter(one => one.kind === kind).length, 0);
