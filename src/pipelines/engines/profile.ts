import { copyText } from '../../lib/text.ts';
import type { ComponentKind, Counter, Gauge } from '../metric.ts';
import { LONGEST_NAME, type NamePattern } from '../metric-pattern.ts';
import type { JsonReader } from '../parsers/json-page.ts';

/**
 * Some engines bound one queue by events and another by bytes; the pair in bytes is kept separately until both are known.
 * `failing` is 1 when requests to a destination failed: it is no metric, and only health knows it.
 */
export type RuleGauge = Gauge | 'queue_bytes' | 'queue_capacity_bytes' | 'failing';

export type Fold = 'sum' | 'max' | 'last' | 'product';

interface CounterMeaning<Reads extends 'counter' | 'delta' | 'level'> {
  readonly metric: Counter;
  readonly reads: Reads;
  /** Each increase is multiplied by it. */
  readonly scale: number;
  /** It counts only in a component that no other series counts this metric of. */
  readonly isFallback: boolean;
  /**
   * Only of increases: each is that of the last so many ms, whatever came since the reading before, which gets its share
   * of it. Undefined where an increase is what came since.
   */
  readonly windowMs: number | undefined;
}

interface GaugeMeaning<Reads extends 'gauge' | 'grew' | 'ratio'> {
  readonly metric: RuleGauge;
  readonly reads: Reads;
  readonly fold: Fold;
  /** With a number, the value is read as 1 when it is at least that, and as 0 when it is less. */
  readonly atLeast: number | undefined;
  /** The gauge is offset + scale × value. */
  readonly scale: number;
  readonly offset: number;
}

/**
 * How to read the value of a series.
 * `counter`: it only grows, its increase counts. `delta`: it is an increase itself.
 * `level`: it goes up and down, and its change, scaled, is added to a counter.
 * `gauge`: it is what it says. `grew`: a gauge that is 1 when the counter grew. `ratio`: a gauge that is the share of
 * the time since the reading before that a counter of milliseconds grew by, 1 at most.
 */
export type Meaning =
  | CounterMeaning<'counter'>
  | CounterMeaning<'delta'>
  | CounterMeaning<'level'>
  | GaugeMeaning<'gauge'>
  | GaugeMeaning<'grew'>
  | GaugeMeaning<'ratio'>;

export const counter = (
  metric: Counter,
  options: { scale?: number; reads?: 'delta' | 'level'; isFallback?: boolean; windowMs?: number } = {},
): Meaning => ({
  metric,
  reads: options.reads ?? 'counter',
  scale: options.scale ?? 1,
  isFallback: options.isFallback ?? false,
  windowMs: options.windowMs,
});

export const gauge = (
  metric: RuleGauge,
  fold: Fold,
  options: { scale?: number; offset?: number; atLeast?: number; reads?: 'grew' | 'ratio' } = {},
): Meaning => ({
  metric,
  reads: options.reads ?? 'gauge',
  fold,
  atLeast: options.atLeast,
  scale: options.scale ?? 1,
  offset: options.offset ?? 0,
});

/** True for a value that stands for nothing yet: it is shown for every part of an engine, most of which move nothing. */
export const isIdle = (meaning: Meaning, value: number): boolean =>
  meaning.reads === 'delta' && meaning.windowMs !== undefined && value === 0;

/** Maps a series, by its name and labels, to a metric of a component. */
export interface ProfileRule {
  readonly match: NamePattern;
  /** Labels and the values they must have, or patterns that these must match. */
  readonly where?: Readonly<Record<string, string | RegExp>>;
  readonly kind: ComponentKind;
  /** The label that holds the engine's id; of several the first that has a value. */
  readonly id: string | readonly string[];
  /** A label within whose value ids are unique: where it has one, that goes before the id, with a slash. */
  readonly within?: string;
  /** The label that holds the type. */
  readonly type?: string;
  /** Only adds to a component that other series named: this one does not know its type. */
  readonly joins?: true;
  readonly meaning: Meaning;
}

/** How to read one engine. */
export interface EngineProfile<Name extends string = string> {
  readonly engine: Name;
  readonly rules: readonly ProfileRule[];
  /** Its rules are a user's own: matching them is a part of the time that the user may take. */
  readonly isOfUser?: true;
  /** The type inside an id, for engines whose ids hold it. */
  readonly typeOf?: (id: string) => string | undefined;
  /** An id without its type, for engines that write both in one label. */
  readonly idOf?: (id: string) => string;
  /** Ids that the engine makes for its own use, which are no inputs and outputs of the user. */
  readonly ignores?: RegExp;
  /** Types that pass data on within the engine, or are its own metrics: no inputs and outputs of the user either. */
  readonly ignoresTypes?: RegExp;
  /** What the names of all its series begin with, where the engine's own configuration can change that. */
  readonly namespace?: string;
  /**
   * Names that show that a page is of this engine, though it may have no input and no output yet; names that a rule
   * matches do so anyway. Left out, any page may be of it, and is fine once it has shown an input or output.
   */
  readonly knownBy?: RegExp | undefined;
  /** Path of the metrics, where it is not `/metrics`. */
  readonly metricsPath?: string;
  /** Creates a reader for the pages of one process, where they are JSON. */
  readonly createReader?: () => JsonReader;
}

/** A profile of which the type knows the engine's name. */
export const defineProfile = <const Name extends string>(profile: EngineProfile<Name>): EngineProfile<Name> =>
  profile;

/** The same profile for series whose names begin with another namespace, '' for none. It has no characters of patterns. */
export function inNamespace(profile: EngineProfile, namespace: string): EngineProfile {
  const prefixed = (name: string | undefined): string => (name ? `^${name}_` : '^');
  const own = prefixed(profile.namespace);
  const rules = profile.rules.map(rule => ({
    ...rule,
    match: new RegExp(prefixed(namespace) + rule.match.source.slice(own.length)),
  }));
  const knownBy = namespace === '' ? undefined : new RegExp(prefixed(namespace));
  return { ...profile, namespace, rules, knownBy };
}

/** One thing that a series says of a component. */
export interface SeriesMapping {
  readonly kind: ComponentKind;
  /** Undefined joins whichever component of this kind and id exists. */
  readonly type: string | undefined;
  readonly engineId: string;
  readonly meaning: Meaning;
}

/** Bounds the time in which names are matched with rules of users. */
export interface MatchingLimit {
  /** Undefined where there is no time left: then it is not done. */
  run<Result>(work: () => Result): Result | undefined;
}

/** Names whose rules are remembered; with more of them, rules are searched for each series. */
const MAX_NAMES = 10_000;

/**
 * Finds the rules that may apply to a series of a name, and remembers them: the same names come again and again. Long
 * names match nothing. While matching a user's own rules has taken its time, names that are new match nothing yet.
 */
export function ruleLookup(
  profile: EngineProfile,
  matching?: MatchingLimit,
): (name: string) => readonly ProfileRule[] {
  const remembered = new Map<string, readonly ProfileRule[]>();
  return name => {
    if (name.length > LONGEST_NAME) return [];
    const known = remembered.get(name);
    if (known !== undefined) return known;
    const find = () => profile.rules.filter(rule => rule.match.test(name));
    const rules = profile.isOfUser === true && matching !== undefined ? matching.run(find) : find();
    if (rules === undefined) return [];
    if (remembered.size < MAX_NAMES) remembered.set(copyText(name), rules);
    return rules;
  };
}

/** Maps a series to components by the given rules of the profile. */
export function mapSeries(
  profile: EngineProfile,
  rules: readonly ProfileRule[],
  labels: ReadonlyMap<string, string>,
): SeriesMapping[] {
  const mappings: SeriesMapping[] = [];
  for (const rule of rules) {
    const id = idFor(rule, labels);
    if (!id || profile.ignores?.test(id) || !meets(rule, labels)) continue;
    const type = rule.joins ? undefined : typeFor(profile, rule, id, labels);
    if (type !== undefined && profile.ignoresTypes?.test(type)) continue;
    const engineId = profile.idOf?.(id) ?? id;
    mappings.push({ kind: rule.kind, type, engineId, meaning: rule.meaning });
  }
  return mappings;
}

function idFor({ id, within }: ProfileRule, labels: ReadonlyMap<string, string>): string | undefined {
  const own = typeof id === 'string' ? labels.get(id) : id.map(name => labels.get(name)).find(Boolean);
  const outer = within === undefined ? undefined : labels.get(within);
  return own && outer ? `${outer}/${own}` : own;
}

function meets(rule: ProfileRule, labels: ReadonlyMap<string, string>): boolean {
  return Object.entries(rule.where ?? {}).every(([name, value]) =>
    typeof value === 'string' ? labels.get(name) === value : value.test(labels.get(name) ?? ''),
  );
}

function typeFor(
  profile: EngineProfile,
  rule: ProfileRule,
  engineId: string,
  labels: ReadonlyMap<string, string>,
): string {
  const labelled = rule.type === undefined ? undefined : labels.get(rule.type);
  return labelled || profile.typeOf?.(engineId) || profile.engine;
}
