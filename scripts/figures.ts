import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** The size and the shape of `src/`, without tests. `npx tsx scripts/figures.ts` prints it; test/architecture.test.ts holds it to its limits. */

export interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  /** What it imports of `src/`, once each. */
  readonly imports: readonly string[];
  /** Modules it names in imports, libraries included, once each. */
  readonly modules: readonly string[];
}

export interface LongFunction {
  readonly path: string;
  readonly name: string;
  readonly lines: number;
}

export const MOST_FUNCTION_LINES = 80;

const linesOf = (text: string): number => text.trimEnd().split('\n').length;

export function readSources(folder = 'src'): readonly Source[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && /\.ts$/.test(entry.name) && !entry.name.endsWith('.test.ts'))
    .map(entry => join(entry.parentPath, entry.name))
    .sort()
    .map(path => {
      const text = readFileSync(path, 'utf8');
      const modules = [
        ...new Set(ts.preProcessFile(text, true).importedFiles.map(({ fileName }) => fileName)),
      ];
      const imports = modules
        .filter(name => name.startsWith('.'))
        .map(name => normalize(join(dirname(path), name)));
      return { path, text, lines: linesOf(text), imports, modules };
    });
}

const parsed = ({ path, text }: Source): ts.SourceFile =>
  ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);

function nameOf(node: ts.Node): string {
  const named = ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) ? node.name : undefined;
  const { parent } = node;
  if (named !== undefined) return named.getText();
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) return parent.name.getText();
  return ts.isConstructorDeclaration(node) ? 'constructor' : 'anonymous';
}

export function longFunctions(sources: readonly Source[]): readonly LongFunction[] {
  return sources.flatMap(source => {
    const file = parsed(source);
    const found: LongFunction[] = [];
    const line = (position: number): number => file.getLineAndCharacterOfPosition(position).line;
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
        const lines = line(node.end) - line(node.getStart()) + 1;
        if (lines > MOST_FUNCTION_LINES) found.push({ path: source.path, name: nameOf(node), lines });
      }
      ts.forEachChild(node, visit);
    };
    visit(file);
    return found;
  });
}

/** Files that exactly one other file imports. */
export function singleImporterFiles(sources: readonly Source[]): readonly string[] {
  const importers = new Map<string, number>();
  for (const path of sources.flatMap(({ imports }) => imports))
    importers.set(path, (importers.get(path) ?? 0) + 1);
  return sources.map(({ path }) => path).filter(path => importers.get(path) === 1);
}

/** Names of types that more than one file exports, with the files. */
export function sharedTypeNames(sources: readonly Source[]): ReadonlyMap<string, readonly string[]> {
  const exported = new Map<string, string[]>();
  for (const source of sources)
    for (const statement of parsed(source).statements) {
      const isType =
        ts.isInterfaceDeclaration(statement) ||
        ts.isTypeAliasDeclaration(statement) ||
        ts.isClassDeclaration(statement);
      if (!isType || statement.name === undefined) continue;
      if (!statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) continue;
      const name = statement.name.text;
      exported.set(name, [...(exported.get(name) ?? []), source.path]);
    }
  return new Map([...exported].filter(([, paths]) => paths.length > 1));
}

const roomOf = (path: string): string | undefined => /^src\/([^/]+)\//.exec(path)?.[1];
const folderOf = (path: string): string | undefined => /^src\/[^/]+\/([^/]+)\//.exec(path)?.[1];

/** Sub-folders of a room that import one another, directly or by others, each written once. */
export function folderCycles(sources: readonly Source[]): readonly string[] {
  const edges = new Map<string, Set<string>>();
  for (const { path, imports } of sources)
    for (const to of imports) {
      const [here, there] = [folderOf(path), folderOf(to)];
      if (here === undefined || there === undefined || here === there || roomOf(path) !== roomOf(to))
        continue;
      const key = `${roomOf(path)}/${here}`;
      edges.set(key, (edges.get(key) ?? new Set()).add(`${roomOf(to)}/${there}`));
    }
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    [...(edges.get(from) ?? [])].some(
      next => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))),
    );
  return [...edges]
    .flatMap(([from, tos]) => [...tos].map(to => ({ from, to })))
    .filter(({ from, to }) => from < to && reaches(from, to) && reaches(to, from))
    .map(({ from, to }) => `${from} <-> ${to}`);
}

/** Words that the glossary replaced by those of the field, counted as parts of names and in texts. */
const REPLACED_WORDS: Readonly<Record<string, RegExp>> = {
  lane: /lanes?/,
  'flight, parcel, landing': /flights?|flown|parcels?|landings?/,
  booking: /bookings?|booked|unbooked/,
  'hand-over, stand-in': /hand(?:ed)?[- ]?over|stand[- ]?ins?/,
  'pace, track': /paces?/,
  'slots, seat': /slots?|seats?/,
  chain: /chains?/,
  turns: /turns/,
  house: /house|houses/,
  door: /doors?/,
  noun: /nouns?/,
  'apart, steering': /apart|steering/,
  'intake, tally': /intakes?|tally|tallies/,
  'told, tell, news': /told|tells?|telling|news/,
  crowd: /crowds?/,
  'posts, posted': /posts|posted/,
  beat: /beats?/,
  'pins, endings': /pins?|endings?/,
  'questions, asked': /questions?|asked|asker/,
  wish: /wish(?:es)?/,
  tenure: /tenures?/,
  'in force': /in[- ]?force/,
  'kept targets': /kept[- _]?targets?/,
  'feed, reach': /feeds?/,
  'losses, circles': /losses|circles?/,
  trials: /trials?/,
  joining: /joining/,
  'overtaken, left out': /overtaken|left[- ]?out/,
  'taken over': /taken[- ]?over/,
  'whoever, whom': /whoever|whom/,
  family: /family/,
};

/** How often each replaced word stands in the texts; the parts of `camelCase` count as words. */
export function replacedWords(sources: readonly Source[]): ReadonlyMap<string, number> {
  const text = sources
    .map(source => source.text.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll('_', ' '))
    .join('\n')
    .toLowerCase();
  return new Map(
    Object.entries(REPLACED_WORDS).map(([word, forms]) => [
      word,
      text.match(new RegExp(`\\b(?:${forms.source})\\b`, 'g'))?.length ?? 0,
    ]),
  );
}

const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;

function printFigures(): void {
  const sources = readSources();
  const lengths = sources.map(({ lines }) => lines).sort((a, b) => a - b);
  const long = longFunctions(sources);
  const words = [...replacedWords(sources)];
  const rows: readonly (readonly [string, number | string])[] = [
    ['files', sources.length],
    ['lines', lengths.reduce((sum, lines) => sum + lines, 0)],
    ['median lines', percentile(lengths, 0.5)],
    ['p90 lines', percentile(lengths, 0.9)],
    ['longest file', lengths.at(-1) ?? 0],
    [`functions over ${MOST_FUNCTION_LINES} lines`, long.length],
    ['longest function', Math.max(0, ...long.map(({ lines }) => lines))],
    ['files with over 15 imports', sources.filter(({ modules }) => modules.length > 15).length],
    ['files imported by exactly one other', singleImporterFiles(sources).length],
    ['cycles between sub-folders', folderCycles(sources).length],
    ['type names exported twice', sharedTypeNames(sources).size],
    ['hits of replaced words', words.reduce((sum, [, hits]) => sum + hits, 0)],
    ...words.map(([word, hits]): [string, number] => [`  ${word}`, hits]),
  ];
  for (const [name, value] of rows) console.log(`${name.padEnd(40)}${String(value).padStart(8)}`);
  if (!process.argv.includes('--long')) return;
  for (const { path, name, lines } of long) console.log(`${lines}  ${name}  ${path}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printFigures();
