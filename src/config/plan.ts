import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../lib/errors.ts';
import { MASK } from '../lib/secret.ts';
import type {
  ConfigEdit,
  ConfigSection,
  FieldChange,
  NewSecret,
  PlannedChange,
  WantedConfiguration,
} from './change.ts';
import type { Configuration } from './configuration.ts';
import { isMap, type PlainMap, plainCopy } from './plain.ts';
import { type ConfigProblem, type Finding, finding, firstProblems, formatPath } from './problems.ts';
import { mapsFor, type Schema, valueAt } from './schema-walk.ts';
import { writtenItems } from './secrets/items.ts';
import { isReference, isReferredTo } from './secrets/references.ts';
import { applySecretRules, type MovedSecret, type SecretWrite } from './secrets/rules.ts';
import { hideAddresses, shownContent, shownDeclared, shownSettings, shownTarget } from './secrets/shown.ts';
import { masksIn } from './secrets/texts.ts';
import { settingsSchema } from './settings.ts';
import { type ConfigDocument, readConfigDocument, readItems, unknownSections } from './yaml/document.ts';

type Path = MovedSecret['path'];

const ITEM_SECTIONS = ['targets', 'notifications', 'inhibitions', 'inputs', 'outputs'] as const;
type ItemSection = (typeof ITEM_SECTIONS)[number];

const SETTINGS_KEYS = mapsFor(settingsSchema, {}).flatMap(map => Object.keys(map.shape));

/** An item as a text has it. */
interface WantedItem {
  readonly section: ItemSection;
  readonly id: string;
  readonly document: ConfigDocument;
  readonly path: Path;
  readonly value: PlainMap;
}

/** All that the texts say. */
interface WantedContent {
  readonly items: readonly WantedItem[];
  readonly sections: ReadonlySet<ItemSection>;
  /** Undefined when no text has any. */
  readonly settings: PlainMap | undefined;
}

/** An edit that the texts ask for, and what a plan shows of it. */
export interface WantedEdit extends ConfigEdit {
  readonly action: PlannedChange['action'];
  readonly schema: Schema | undefined;
  readonly secrets: readonly NewSecret[];
  /** Places of secrets that change, whatever they read as. */
  readonly secretPaths: readonly Path[];
  readonly movedSecrets: readonly MovedSecret[];
}

/**
 * The edits that make a configuration what texts say. An item of a text is the whole of it; settings are merged into those
 * that are there, pipelines by their ids. Throws `invalid-request` for texts that cannot be read, and as
 * `applySecretRules` does.
 */
export function wantedEdits(
  wanted: WantedConfiguration,
  now: Configuration,
  secretOf: (name: string) => string | undefined,
): WantedEdit[] {
  const content = readWanted(wanted);
  const refusals: AppError[] = [];
  const attempt = (place: Place, work: () => WantedEdit | undefined): WantedEdit[] => {
    try {
      return [work() ?? []].flat();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      refusals.push(placed(error, place));
      return [];
    }
  };
  const context: EditContext = { wanted, now, secretOf };
  const writers = new Map(ITEM_SECTIONS.map(section => [section, itemWriter(section, context)]));
  const edits = content.items.flatMap(item =>
    attempt({ ...item, label: `${item.section}.${item.id}` }, () => writers.get(item.section)?.(item)),
  );
  const { settings } = content;
  if (settings !== undefined)
    edits.push(
      ...attempt({ label: '', document: undefined, path: [] }, () => settingsEdit(settings, context)),
    );
  const [first] = refusals;
  if (first !== undefined)
    throw new AppError(first.code, first.message, {
      problems: refusals.flatMap(({ problems = [] }) => problems),
    });
  return wanted.prune ? [...edits, ...removals(content, now)] : edits;
}

interface EditContext {
  readonly wanted: WantedConfiguration;
  readonly now: Configuration;
  readonly secretOf: (name: string) => string | undefined;
}

/** Reads all texts. Throws `invalid-request` with their problems. */
function readWanted({ documents }: WantedConfiguration): WantedContent {
  const problems: Finding[] = [];
  const items = new Map<string, WantedItem>();
  const sections = new Set<ItemSection>();
  let settings: PlainMap | undefined;
  for (const { name, text } of documents) {
    const document = readConfigDocument('', name, text);
    problems.push(...document.problems, ...unknownSections(document, [...ITEM_SECTIONS, ...SETTINGS_KEYS]));
    const entries = Object.entries(document.value);
    const own = entries.filter(([key]) => SETTINGS_KEYS.includes(key));
    if (own.length > 0) settings = mergeSettings(settings ?? {}, Object.fromEntries(own));
    for (const section of ITEM_SECTIONS) {
      if (!Object.hasOwn(document.value, section)) continue;
      sections.add(section);
      const read = readItems(document, section);
      problems.push(...read.problems);
      for (const { id, path, value } of read.items) {
        const first = items.get(`${section}.${id}`);
        if (id === undefined) problems.push(at(document, path, "'id' is required"));
        else if (first === undefined)
          items.set(`${section}.${id}`, { section, id, document, path, value: plainCopy(value) });
        else if (first.document !== document)
          problems.push(at(document, path, `'${id}' of ${section} stands in ${placeText(first)} already`));
      }
    }
  }
  if (problems.length > 0) {
    const found = firstProblems(
      'problems',
      problems,
      documents.map(({ name }) => name),
    );
    throw invalid(found.map(({ path, ...problem }) => ({ path, message: located(problem) })));
  }
  return { items: [...items.values()], sections, settings };
}

const at = (document: ConfigDocument, path: Path, message: string): Finding =>
  finding(() => ({ file: document.file, path: formatPath(path), ...document.places.of(path) }), message);

const located = ({ file, line, column, message }: Omit<ConfigProblem, 'path'>): string =>
  `${file}:${line}:${column}: ${message}`;

function invalid(problems: readonly { readonly path: string; readonly message: string }[]): AppError {
  const [first] = problems;
  return new AppError('invalid-request', first?.message ?? 'The texts are not valid', { problems });
}

interface Place {
  /** The item's own name; '' for settings. */
  readonly label: string;
  readonly document: ConfigDocument | undefined;
  readonly path: Path;
}

function placeText({ document, path }: Pick<Place, 'document' | 'path'>): string | undefined {
  if (document === undefined) return undefined;
  const { line, column } = document.places.of(path);
  return `${document.file}:${line}:${column}`;
}

/** A refusal of an item by its place in the text. */
function placed(error: AppError, place: Place): AppError {
  const where = placeText(place);
  const problems = (error.problems ?? [{ path: '', message: error.message }]).map(({ path, message }) => ({
    path: joinedPath(place.label, path),
    message: where === undefined ? message : `${where}: ${message}`,
  }));
  const [first] = problems;
  return new AppError(error.code, first === undefined ? error.message : `${first.path}: ${first.message}`, {
    problems,
    cause: error,
  });
}

/** The path of something below a named item. */
export const joinedPath = (base: string, path: string): string =>
  [base, path].filter(part => part !== '').join(path.startsWith('[') ? '' : '.');

const rawOf = (now: Configuration, section: ItemSection, id: string): PlainMap | undefined =>
  now.raw[section].get(id);

/** Makes the edits of a section's items; undefined for one that is there as it is wanted. */
function itemWriter(
  section: ItemSection,
  context: EditContext,
): (item: WantedItem) => WantedEdit | undefined {
  const { now } = context;
  if (section === 'notifications' || section === 'inhibitions')
    return item => itemEdit(item, now, { value: item.value, secrets: [], secretPaths: [], movedSecrets: [] });
  const toWritten = writtenItems(section, now);
  return item => {
    const written = toWritten(item);
    if (written === undefined)
      return itemEdit(item, now, { value: item.value, secrets: [], secretPaths: [], movedSecrets: [] });
    return itemEdit(item, now, ruled(written, context), written.schema);
  };
}

type Ruled = Pick<WantedEdit, 'secrets' | 'secretPaths' | 'movedSecrets'> & { readonly value: PlainMap };

/** An item with references in the place of its secrets. One that is stored as it was sent does not change. */
function ruled(
  write: Pick<SecretWrite, 'schema' | 'owner' | 'item' | 'inFile' | 'effective'>,
  { wanted, now, secretOf }: EditContext,
): Ruled {
  const movedSecrets: MovedSecret[] = [];
  const { value, replaced } = applySecretRules({
    ...write,
    mayRefer: wanted.mayRefer,
    isUsedElsewhere: name => isReferredTo(now.raw, name, write.inFile),
    ...(wanted.isPlanOnly && { onMoved: (moved: MovedSecret) => void movedSecrets.push(moved) }),
  });
  const fresh = replaced.filter(
    ({ secret }) => secret !== undefined && !(wanted.mayRefer && secretOf(secret.name) === secret.value),
  );
  const referred = referencesIn(value).filter(path => valueAt(value, path) !== valueAt(write.inFile, path));
  return {
    value,
    secrets: fresh.flatMap(({ secret }) => secret ?? []),
    secretPaths: [...fresh.map(({ path }) => path), ...referred],
    movedSecrets,
  };
}

function referencesIn(value: unknown, path: Path = []): Path[] {
  if (isReference(value)) return [path];
  if (Array.isArray(value)) return value.flatMap((one, index) => referencesIn(one, [...path, index]));
  if (!isMap(value)) return [];
  return Object.entries(value).flatMap(([key, one]) => referencesIn(one, [...path, key]));
}

function itemEdit(
  item: WantedItem,
  now: Configuration,
  { value, ...rest }: Ruled,
  schema?: Schema,
): WantedEdit | undefined {
  const { section, id } = item;
  const inFile = rawOf(now, section, id);
  if (rest.secrets.length === 0 && inFile !== undefined && isDeepStrictEqual(plainCopy(inFile), value))
    return undefined;
  refuseMasks(value);
  const action = inFile === undefined ? 'create' : 'change';
  return { section, id, value, schema, action, place: placeText(item), ...rest };
}

/** Throws `unprocessable` for a mask that would be written as if it were a value. */
function refuseMasks(value: PlainMap): void {
  const problems = masksIn(value).map(path => ({
    path: formatPath(path),
    message: `is masked, and nothing is stored for it; found ${String(valueAt(value, path))}`,
  }));
  const [first] = problems;
  if (first !== undefined)
    throw new AppError('unprocessable', `${first.path}: ${first.message}`, { problems });
}

function settingsEdit(sent: PlainMap, context: EditContext): WantedEdit | undefined {
  const { now, wanted } = context;
  const inFile = now.raw.settings;
  const item = wanted.prune ? { ...inFile, ...sent } : mergeSettings(inFile, sent);
  const { value, ...rest } = ruled(
    { schema: settingsSchema, owner: ['settings'], item, inFile, effective: shownSettings(now) },
    context,
  );
  if (rest.secrets.length === 0 && isDeepStrictEqual(inFile, value)) return undefined;
  refuseMasks(value);
  const { documents } = wanted;
  const place = documents.length === 1 ? documents[0]?.name : undefined;
  return { section: 'settings', id: '', value, schema: settingsSchema, action: 'change', place, ...rest };
}

/** Maps are merged, and lists of items with ids by those; all else replaces. */
function mergeSettings(base: PlainMap, sent: PlainMap): PlainMap {
  const merged = { ...base };
  for (const [key, value] of Object.entries(sent)) merged[key] = mergeValue(base[key], value);
  return merged;
}

function mergeValue(base: unknown, sent: unknown): unknown {
  if (isMap(base) && isMap(sent)) return mergeSettings(base, sent);
  const [present, wanted] = [byId(base), byId(sent)];
  if (present === undefined || wanted === undefined) return sent;
  return [...new Map([...present, ...wanted]).values()];
}

/** The items of a list by their ids; undefined unless each has its own. */
function byId(list: unknown): ReadonlyMap<string, unknown> | undefined {
  if (!Array.isArray(list)) return undefined;
  const items = new Map<string, unknown>();
  for (const item of list) if (isMap(item) && typeof item.id === 'string') items.set(item.id, item);
  return items.size === list.length ? items : undefined;
}

function removals({ items, sections }: WantedContent, now: Configuration): WantedEdit[] {
  const wanted = new Set(items.map(({ section, id }) => `${section}.${id}`));
  return ITEM_SECTIONS.filter(section => sections.has(section)).flatMap(section =>
    [...now.raw[section].keys()]
      .filter(id => !wanted.has(`${section}.${id}`))
      .map(id => ({
        ...({
          section,
          id,
          value: undefined,
          action: 'remove',
          schema: undefined,
          place: undefined,
        } as const),
        ...{ secrets: [], secretPaths: [], movedSecrets: [] },
      })),
  );
}

/** What edits make different, by what reads show before and after. */
export function planOf(
  edits: readonly WantedEdit[],
  { hidden }: WantedConfiguration,
  now: Configuration,
  next: Configuration,
): PlannedChange[] {
  const [before, after] = [shownItems(now), shownItems(next)];
  return edits.map(edit => {
    const { action, section, id, schema, value } = edit;
    const isHidden = schema !== undefined && hidden.includes(section);
    const seen = (shown: PlainMap): PlainMap => (isHidden ? hideAddresses(schema, shown).content : shown);
    const movedSecrets = edit.movedSecrets.map(({ path, setting }) => ({
      path: formatPath(namedPath(path, value)),
      setting,
    }));
    const planned = { action, section, id, movedSecrets };
    if (action === 'remove') return { ...planned, fields: [] };
    if (action === 'create') {
      const { id: _, ...written } = plainCopy(value ?? {});
      const shown = seen(schema === undefined ? written : shownContent(schema, written, written));
      return { ...planned, fields: Object.entries(shown).map(([path, one]) => ({ path, new: one })) };
    }
    const [old, current] = [before(section, id), after(section, id)];
    const paths = pathsBetween(old, current);
    const [oldSeen, newSeen] = [seen(old), seen(current)];
    const fields = paths.map(path => fieldChange(path, oldSeen, newSeen));
    const isShown = (path: Path): boolean =>
      paths.some(shown => shown.every((step, at) => path[at] === step));
    const secrets = edit.secretPaths.map(path => namedPath(path, value)).filter(path => !isShown(path));
    const masked = [...new Set(secrets.map(formatPath))].map(path => ({ path, old: MASK, new: MASK }));
    return { ...planned, fields: [...fields, ...masked] };
  });
}

/** True when an edit would change nothing that anybody could notice. */
export const isIdle = (change: PlannedChange | undefined): boolean =>
  change?.action === 'change' && change.fields.length === 0;

function shownItems(now: Configuration): (section: ConfigSection, id: string) => PlainMap {
  const targets = new Map(now.targets.map(target => [target.settings.id, target]));
  const notifications = new Map(now.notifications.map(({ id, settings }) => [id, settings]));
  const inhibitions = new Map(now.inhibitions.map(({ id, settings }) => [id, settings]));
  return (section, id) => {
    const target = targets.get(id);
    switch (section) {
      case 'settings':
        return shownSettings(now);
      case 'targets':
        return target === undefined ? {} : shownTarget(now, target);
      case 'notifications':
        return plainCopy(notifications.get(id) ?? {});
      case 'inhibitions':
        return plainCopy(inhibitions.get(id) ?? {});
      default:
        return shownDeclared({ value: now.raw[section].get(id) ?? {} });
    }
  };
}

/** Where two values read otherwise; items of lists count by their ids where all have one, other lists as a whole. */
function pathsBetween(old: unknown, current: unknown, path: Path = []): Path[] {
  if (isDeepStrictEqual(old, current)) return [];
  const [before, after] = [childrenByName(old), childrenByName(current)];
  if (before === undefined || after === undefined) return [path];
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].flatMap(name => pathsBetween(before.get(name), after.get(name), [...path, name]));
}

function childrenByName(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (Array.isArray(value)) return value.length === 0 ? undefined : byId(value);
  return isMap(value) ? new Map(Object.entries(value)) : undefined;
}

/** A path with the ids of items in place of their indexes, where all of a list have one. */
function namedPath(path: Path, value: unknown): Path {
  let current = value;
  return path.map(step => {
    const names = Array.isArray(current) ? [...(byId(current)?.keys() ?? [])] : [];
    current = valueAt(current, [step]);
    return names[Number(step)] ?? step;
  });
}

function fieldChange(path: Path, before: unknown, after: unknown): FieldChange {
  const find = (value: unknown): unknown =>
    path.reduce((current, step) => childrenByName(current)?.get(String(step)), value);
  const [old, current] = [find(before), find(after)];
  return {
    path: formatPath(path),
    ...(old !== undefined && { old }),
    ...(current !== undefined && { new: current }),
  };
}
