import { AppError, type Problem } from '../../lib/errors.ts';
import { MASK } from '../../lib/secret.ts';
import type { CheckedTexts, NewSecret } from '../change.ts';
import { type Configuration, FILES, type FileName, type FileTexts } from '../configuration.ts';
import { withoutByteOrderMark } from '../file-text.ts';
import { formatPath } from '../problems.ts';
import { childOf, valueAt } from '../schema-walk.ts';
import { type Splice, spliced } from '../yaml/change.ts';
import { type ConfigDocument, readConfigDocument } from '../yaml/document.ts';
import { flowText } from '../yaml/render.ts';
import { outline } from '../yaml/spans.ts';
import { itemsIn, type WrittenItem } from './items.ts';
import { placeOf, scalarSpan, within } from './mask.ts';
import { isReferredTo } from './references.ts';
import { applySecretRules, type CheckedWrite, type ReplacedValue } from './rules.ts';

/**
 * Applies the rules of secrets to texts of files that came over the API: each item is held to what `applySecretRules`
 * says of a change of it, the item of its id being what was there before. Masks become what the files hold there now,
 * secrets in clear become references. Throws as the rules do, naming each place that they refuse, and `unprocessable` for
 * a mask that would be written as if it were a value.
 */
export function applySecretRulesToTexts(
  texts: FileTexts,
  now: Configuration,
  mayRefer: boolean,
): CheckedTexts {
  const checked = FILES.flatMap(name => {
    const text = texts[name];
    return text === undefined ? [] : [checkFile(name, text, now, mayRefer)];
  });
  const refusals = checked.flatMap(file => file.refusals);
  const [first] = refusals;
  if (first !== undefined)
    throw new AppError(first.code, first.message, {
      problems: refusals.flatMap(({ problems = [] }) => problems),
    });
  return {
    texts: Object.fromEntries(checked.map(({ name, text }) => [name, text])),
    secrets: checked.flatMap(({ secrets }) => secrets),
  };
}

type Path = ReplacedValue['path'];

interface CheckedFile {
  readonly name: FileName;
  readonly text: string;
  readonly secrets: readonly NewSecret[];
  readonly refusals: readonly AppError[];
}

function checkFile(name: FileName, original: string, now: Configuration, mayRefer: boolean): CheckedFile {
  const text = withoutByteOrderMark(original);
  const document = readConfigDocument('', name, text);
  const items = itemsIn(name, document, now);
  const checked: CheckedItem[] = [];
  const refusals: AppError[] = [];
  for (const item of items)
    try {
      const isUsedElsewhere = (stored: string): boolean => isReferredTo(now.raw, stored, item.inFile);
      checked.push({ ...item, ...applySecretRules({ ...item, mayRefer, isUsedElsewhere }) });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      refusals.push(inFile(error, name, item.path));
    }
  if (refusals.length > 0) return { name, text: original, secrets: [], refusals };
  const replaced = checked.flatMap(({ path: base, replaced: values }) =>
    values.map(one => ({ ...one, path: [...base, ...one.path] })),
  );
  const { result, secrets, left } = rewritten(document, text, replaced);
  if (result === text) return { name, text: original, secrets, refusals: leftOverMask(name, text) };
  const after = itemsIn(name, readConfigDocument('', name, result), now);
  const wrong = checked.find(({ value }, index) => !isAsChecked(value, after[index]?.item, left));
  const refused = wrong === undefined ? leftOverMask(name, result) : [behindAnchor(name, wrong.path)];
  return { name, text: result, secrets, refusals: refused };
}

type CheckedItem = WrittenItem & CheckedWrite;

/**
 * The text with these values in their places. A secret in clear stays where it has an anchor, or stands behind an alias:
 * its reader is warned of it.
 */
function rewritten(document: ConfigDocument, text: string, replaced: readonly ReplacedValue[]) {
  const { root } = outlineOf(document, text);
  const splices: Splice[] = [];
  const secrets: NewSecret[] = [];
  /** Secrets that stay in clear, by the references that were to stand there. */
  const left = new Map<unknown, string>();
  for (const { path, value, secret } of replaced) {
    const span = scalarSpan(path.reduce(within, root));
    const isShared = span === undefined || (secret !== undefined && span.anchored);
    if (!isShared) splices.push({ ...placeOf(text, span), text: flowText(value) });
    if (secret === undefined) continue;
    if (isShared) left.set(value, secret.value);
    else secrets.push(secret);
  }
  return { result: splices.length === 0 ? text : (spliced(text, splices) ?? text), secrets, left };
}

/**
 * True when an item reads as the rules have left it, but for secrets in clear that could not be stored. By an anchor it
 * could hold what is hidden elsewhere.
 */
function isAsChecked(value: unknown, actual: unknown, left: ReadonlyMap<unknown, string>): boolean {
  if (typeof value === 'object' && value !== null) {
    const steps = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
    return steps.every(step => isAsChecked(childOf(value, step), childOf(actual, step), left));
  }
  return Object.is(value, actual) || (left.has(value) && left.get(value) === String(actual));
}

function behindAnchor(name: FileName, path: Path): AppError {
  const place = `${name} ${formatPath(path)}`;
  const message = 'shares a masked value by an anchor; write it without anchors and aliases';
  return new AppError('unprocessable', `${place}: ${message}`, { problems: [{ path: place, message }] });
}

/** A text that cannot be read is refused when it is loaded. */
const outlineOf = ({ readable }: ConfigDocument, text: string): Pick<ReturnType<typeof outline>, 'root'> =>
  readable ? outline(text) : { root: undefined };

/** A refusal by its place in the file. */
function inFile(error: AppError, name: FileName, base: Path): AppError {
  const problems = (error.problems ?? []).map(({ path, message }) => {
    const joined = [formatPath(base), path].filter(part => part !== '').join(path.startsWith('[') ? '' : '.');
    return { path: `${name} ${joined}`, message };
  });
  const [first] = problems;
  return new AppError(error.code, first === undefined ? error.message : `${first.path}: ${first.message}`, {
    problems,
    cause: error,
  });
}

/** Masks that would be written as if they were values. */
function leftOverMask(name: FileName, text: string): AppError[] {
  const document = readConfigDocument('', name, text);
  const value = { ...document.shared, ...document.value };
  const problems = masksIn(value).map(
    (path): Problem => ({
      path: `${name} ${formatPath(path)}`,
      message: `is masked, and nothing is stored for it; found ${String(valueAt(value, path))}`,
    }),
  );
  const [first] = problems;
  if (first === undefined) return [];
  return [new AppError('unprocessable', `${first.path}: ${first.message}`, { problems })];
}

/** The places of texts that hold a mask. */
export function masksIn(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string') return value.includes(MASK) ? [path] : [];
  if (typeof value !== 'object' || value === null) return [];
  const steps = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return steps.flatMap(step => masksIn(childOf(value, step), [...path, step]));
}
