import { AppError, type Problem } from '../lib/errors.ts';
import { isMask, MASK } from '../lib/secret.ts';
import { counterpart } from './counterpart.ts';
import type { RawItems } from './declared.ts';
import { FILES, type FileName, NOTIFICATIONS_FILE, SETTINGS_FILE, type Texts } from './load.ts';
import { placeOf, type SecretPlace, secretPlaces, spanFinder } from './mask-texts.ts';
import { isMap, type PlainMap } from './plain.ts';
import { formatPath } from './problems.ts';
import { childOf, valueAt } from './schema-walk.ts';
import { withoutMark } from './text.ts';
import { readYaml } from './yaml.ts';
import { type Splice, spliced } from './yaml-change.ts';
import type { Path } from './yaml-places.ts';
import { flowText } from './yaml-render.ts';

/**
 * Texts of an older version with each masked secret replaced by what the files hold in its place now, found by ids.
 * Throws `unprocessable`, naming each secret that nothing is stored for.
 */
export function unmaskedTexts(texts: Texts, now: RawItems): Texts {
  const unmasked: Partial<Record<FileName, string>> = {};
  const problems: Problem[] = [];
  for (const name of FILES) {
    const text = texts[name];
    if (text === undefined) continue;
    const file = unmask(name, withoutMark(text), now);
    unmasked[name] = file.text;
    problems.push(...file.problems);
  }
  if (problems.length === 0) return unmasked;
  throw new AppError(
    'unprocessable',
    `${problems.length} secrets of this version are stored nowhere; the first is ${problems[0]?.path}`,
    { problems },
  );
}

function unmask(name: FileName, text: string, now: RawItems) {
  if (!text.includes(MASK)) return { text, problems: [] };
  const find = spanFinder(text);
  const splices: Splice[] = [];
  for (const place of maskedPlaces(name, text)) {
    const span = find(place);
    const whole = place.id === '' ? now.settings : now.targets.get(place.id);
    const present = presentAt(whole, place.whole, place.path);
    if (span !== undefined && typeof present === 'string')
      splices.push({ ...placeOf(text, span), text: flowText(present) });
  }
  const result = spliced(text, splices) ?? text;
  return { text: result, problems: leftOver(name, result) };
}

interface MaskedPlace extends SecretPlace {
  /** The target, or all of headgate.yml. */
  readonly whole: PlainMap;
}

function maskedPlaces(name: FileName, text: string): MaskedPlace[] {
  if (name !== SETTINGS_FILE && name !== NOTIFICATIONS_FILE) return [];
  const value = readYaml(text).document?.value;
  const whole: PlainMap = isMap(value) ? value : {};
  const targets = new Map(name === NOTIFICATIONS_FILE ? targetsIn(whole.targets) : []);
  const settings = name === SETTINGS_FILE ? whole : {};
  return secretPlaces({ targets, settings })
    [name].filter(place => typeof place.value === 'string' && isMask(place.value))
    .map(place => ({ ...place, whole: targets.get(place.id) ?? settings }));
}

function targetsIn(items: unknown): [string, PlainMap][] {
  const named = Array.isArray(items)
    ? items.map((item: unknown): [string, unknown] => [String(childOf(item, 'id')), item])
    : Object.entries(isMap(items) ? items : {});
  return named.flatMap(([id, item]): [string, PlainMap][] => (isMap(item) ? [[id, item]] : []));
}

/** What stands in the same place now. */
function presentAt(now: unknown, old: unknown, path: Path): unknown {
  const [step, ...rest] = path;
  return step === undefined ? now : presentAt(counterpart(now, old, step), childOf(old, step), rest);
}

/** A mask that would be written as if it were a value. */
function leftOver(name: FileName, text: string): Problem[] {
  const value = readYaml(text).document?.value;
  return masksIn(value).map(path => ({
    path: `${name} ${formatPath(path)}`,
    message: `is masked in this version, and nothing is stored for it now; found ${String(valueAt(value, path))}`,
  }));
}

function masksIn(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string') return value.includes(MASK) ? [path] : [];
  if (typeof value !== 'object' || value === null) return [];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([step, entry]) => masksIn(entry, [...path, step]));
}
