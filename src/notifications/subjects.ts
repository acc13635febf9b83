import type { ComponentConf, ComponentKinds, NameSelector, Subject } from '../conditions/condition.ts';
import { findCondition } from '../conditions/index.ts';
import { copyText } from '../lib/text.ts';
import { type Component, type Components, componentName } from '../pipelines/components/component.ts';
import type { ComponentKind } from '../pipelines/metric.ts';
import type { IncidentSpan } from '../storage/stores/incidents.ts';

/** A component that was seen, as conditions evaluate it. */
export interface ComponentSubject extends Subject {
  readonly component: Component;
}

/** True when a notification names one component exactly, so that it counts as declared though it was never seen. */
export const isExact = (conf: Pick<ComponentConf, 'name'>): boolean => !conf.name.includes('*');

/** All names of a component: `type:id` and the bare id, each with the engine's id and with ours. */
export const namesOf = ({ type, engineId, id }: Component): readonly string[] =>
  id === engineId ? [`${type}:${id}`, id] : [`${type}:${engineId}`, `${type}:${id}`, engineId, id];

/** Matches the components of a conf: its name is one of theirs, or a pattern with `*` for one. */
export function createComponentMatcher(
  conf: Pick<ComponentConf, 'name' | '__workerGroup'>,
  kind: ComponentKinds,
): (component: Component) => boolean {
  const isNamed = isExact(conf) ? exactMatcher(conf.name) : globMatcher(conf.name);
  return component =>
    (kind === 'either' || component.kind === kind) &&
    (conf.__workerGroup === undefined || component.group === conf.__workerGroup) &&
    isNamed(component);
}

/** Compares the ends first: most names differ there, which saves a look at each way of writing. */
const exactMatcher =
  (name: string) =>
  (component: Component): boolean =>
    (name.endsWith(component.engineId) || name.endsWith(component.id)) && namesOf(component).includes(name);

/** Matches a conf against one name. */
export function createNameMatcher(conf: Pick<ComponentConf, 'name'>): (name: string) => boolean {
  return isExact(conf) ? name => name === conf.name : compileGlob(conf.name);
}

function globMatcher(glob: string): (component: Component) => boolean {
  const matches = compileGlob(glob);
  return component => namesOf(component).some(matches);
}

/**
 * Matches a text that equals the name, or fits it where it has `*`. Linear in the text whatever the pattern: each piece
 * is searched for from where the last one ended.
 */
export function compileGlob(glob: string): (text: string) => boolean {
  const parts = glob.split('*');
  if (parts.length === 1) return text => text === glob;
  const first = parts[0] ?? '';
  const last = parts.at(-1) ?? '';
  const middle = parts.slice(1, -1).filter(piece => piece !== '');
  return text => {
    if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
      return false;
    const end = text.length - last.length;
    let at = first.length;
    for (const piece of middle) {
      const found = text.indexOf(piece, at);
      if (found < 0 || found + piece.length > end) return false;
      at = found + piece.length;
    }
    return true;
  };
}

export function subjectOf(component: Component): ComponentSubject {
  const name = componentName(component);
  return {
    key: copyText(`${component.pipeline}/${name}`),
    name: copyText(name),
    group: component.group,
    component,
    declaredMs: 0,
  };
}

const INPUT_MARK = 'input/';

/** The subject where inputs and outputs are evaluated together: some engines call one of each the same. */
export const subjectAmongEither = (subject: ComponentSubject): ComponentSubject =>
  subject.component.kind === 'output'
    ? subject
    : { ...subject, key: `${subject.component.pipeline}/${INPUT_MARK}${subject.name}` };

/** The kind of a subject that was evaluated among inputs and outputs, also when its component is gone. */
export const kindAmongEither = (key: string): ComponentKind =>
  key.slice(key.indexOf('/') + 1).startsWith(INPUT_MARK) ? 'input' : 'output';

/** `*` takes the place of the pipeline: a name alone does not show in which it will appear. */
export const declaredKey = (conf: ComponentConf): string => `*/${conf.name}`;

/** The two parts of a subject's key. */
export function keyParts(key: string): { readonly pipeline: string; readonly name: string } {
  const mark = key.indexOf('/');
  const name = key.slice(mark + 1);
  return {
    pipeline: key.slice(0, mark),
    name: name.startsWith(INPUT_MARK) ? name.slice(INPUT_MARK.length) : name,
  };
}

/** The subject of a name that no component has. */
export function declaredSubject(conf: ComponentConf, declaredMs: number): Subject {
  return {
    key: declaredKey(conf),
    name: conf.name,
    group: conf.__workerGroup ?? 'default',
    component: undefined,
    declaredMs,
  };
}

/** The table of subjects. It is read once for all notifications, and after that only what has changed. */
export interface SubjectTable {
  /** Grows when a component has come or gone. */
  readonly version: number;
  /** Components that the last change added or removed. */
  readonly change: SubjectChange;
  /** Updates the table when the components have changed. */
  refresh(): void;
  all(): Iterable<ComponentSubject>;
  /** Subjects with this name. */
  named(name: string): readonly ComponentSubject[];
}

interface SubjectChange {
  readonly added: readonly ComponentSubject[];
  readonly gone: ReadonlySet<ComponentSubject>;
}

export function createSubjectTable(components: Pick<Components, 'all' | 'revision'>): SubjectTable {
  let revision: number | undefined;
  let version = 0;
  const subjects = new Map<Component, ComponentSubject>();
  let change: SubjectChange = { added: [], gone: new Set() };
  /** Undefined until the first search by name: patterns do not use it. */
  let byName: Map<string, ComponentSubject[]> | undefined;

  /** The table changes in place: of many components that come in small numbers each copy would be as large as all. */
  function read(): SubjectChange {
    const all = components.all();
    const added: ComponentSubject[] = [];
    for (const component of all) {
      if (subjects.has(component)) continue;
      const subject = subjectOf(component);
      added.push(subject);
      subjects.set(component, subject);
    }
    return { added, gone: subjects.size > all.length ? removeAllBut(new Set(all)) : new Set() };
  }

  function removeAllBut(present: ReadonlySet<Component>): ReadonlySet<ComponentSubject> {
    const gone = new Set<ComponentSubject>();
    for (const [component, subject] of subjects) {
      if (present.has(component)) continue;
      gone.add(subject);
      subjects.delete(component);
    }
    return gone;
  }

  function index(names: Map<string, ComponentSubject[]>, { added, gone }: SubjectChange): void {
    const removedNames = new Set([...gone].flatMap(({ component }) => namesOf(component)));
    for (const name of removedNames) {
      const remaining = (names.get(name) ?? []).filter(subject => !gone.has(subject));
      if (remaining.length > 0) names.set(name, remaining);
      else names.delete(name);
    }
    for (const subject of added)
      for (const name of namesOf(subject.component)) {
        const present = names.get(name);
        if (present === undefined) names.set(name, [subject]);
        else present.push(subject);
      }
  }

  function named(name: string): readonly ComponentSubject[] {
    if (byName === undefined) {
      byName = new Map();
      index(byName, { added: [...subjects.values()], gone: new Set() });
    }
    return byName.get(name) ?? [];
  }

  return {
    get version() {
      return version;
    },
    get change() {
      return change;
    },
    refresh() {
      if (components.revision === revision) return;
      revision = components.revision;
      version += 1;
      change = read();
      if (byName !== undefined) index(byName, change);
    },
    all: () => subjects.values(),
    named,
  };
}

/** Reads the subjects that a conf matches; for a pattern only new ones are compared. */
export function subjectReader(
  conf: ComponentConf,
  kind: ComponentKinds,
): (table: SubjectTable) => readonly ComponentSubject[] {
  const matches = createComponentMatcher(conf, kind);
  const isMatched = ({ component }: ComponentSubject): boolean => matches(component);
  let version = 0;
  let subjects: readonly ComponentSubject[] = [];
  let result = subjects;

  function applyChange({ added, gone }: SubjectChange): readonly ComponentSubject[] {
    const found = added.filter(isMatched);
    const remaining = gone.size > 0 ? subjects.filter(subject => !gone.has(subject)) : subjects;
    return found.length > 0 ? [...remaining, ...found] : remaining;
  }

  return table => {
    if (table.version === version) return result;
    if (isExact(conf)) subjects = table.named(conf.name).filter(isMatched);
    else
      subjects =
        table.version === version + 1 ? applyChange(table.change) : [...table.all()].filter(isMatched);
    version = table.version;
    result = kind === 'either' ? subjects.map(subjectAmongEither) : subjects;
    return result;
  };
}

/** True for a pipeline in the group of a selector, or where the selector names none. */
export const isInGroup = (
  { __workerGroup: group }: NameSelector,
  pipeline: { readonly group: string },
): boolean => group === undefined || group === pipeline.group;

/** True for a pipeline that a selector matches. */
export const matchesPipeline = (
  selector: NameSelector,
  pipeline: { readonly id: string; readonly group: string },
): boolean => isInGroup(selector, pipeline) && createNameMatcher(selector)(pipeline.id);

interface Span {
  readonly from: number;
  readonly until: number;
}

/**
 * For how many seconds from `from` until before `until` (epoch ms) at least one incident was open on each component;
 * components without any are omitted. Time in which several were open counts once.
 */
export function openSecondsOf(
  incidents: readonly IncidentSpan[],
  components: readonly Component[],
  { from, until }: Span,
): ReadonlyMap<Component, number> {
  if (incidents.length === 0) return new Map();
  const find = componentFinder(components);
  const spans = new Map<Component, Span[]>();
  for (const incident of incidents) {
    const component = find(incident);
    if (component === undefined) continue;
    const span = {
      from: Math.max(from, incident.opened_at),
      until: Math.min(until, incident.closed_at ?? until),
    };
    const others = spans.get(component);
    if (others === undefined) spans.set(component, [span]);
    else others.push(span);
  }
  return new Map([...spans].map(([component, all]) => [component, Math.round(unionMs(all) / 1000)]));
}

function unionMs(spans: readonly Span[]): number {
  let total = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const { from, until } of [...spans].sort((one, other) => one.from - other.from)) {
    total += Math.max(0, until - Math.max(from, reached));
    reached = Math.max(reached, until);
  }
  return total;
}

/** Subjects do not name the kind of their component: the condition of the incident does. */
function componentFinder(
  components: readonly Component[],
): (incident: Pick<IncidentSpan, 'condition' | 'subject'>) => Component | undefined {
  const byKey = { input: new Map<string, Component>(), output: new Map<string, Component>() };
  const amongEither = new Map<string, Component>();
  for (const component of components) {
    const subject = subjectOf(component);
    byKey[component.kind].set(subject.key, component);
    amongEither.set(subjectAmongEither(subject).key, component);
  }
  return ({ condition, subject }) => {
    const kind = findCondition(condition)?.kind;
    if (kind === 'input' || kind === 'output') return byKey[kind].get(subject);
    // A condition on both kinds may be narrowed to inputs; their subjects are then those of inputs.
    if (kind === 'either') return amongEither.get(subject) ?? byKey.input.get(subject);
    return undefined;
  };
}
