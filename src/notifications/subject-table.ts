import type { ComponentConf, ComponentKinds } from '../conditions/condition.ts';
import type { Component, Components } from '../pipelines/component.ts';
import { amongEither, isExact, matcher, namesOf, type SeenSubject, subjectOf } from './subjects.ts';

/** Which subjects there are. What all notifications ask of it is read once, and after that only what has changed. */
export interface SubjectTable {
  /** Grows when a component has come or gone. */
  readonly version: number;
  /** What the last change brought. */
  readonly change: SubjectChange;
  /** Looks whether the components have changed. */
  refresh(): void;
  all(): Iterable<SeenSubject>;
  /** Those one may call by this name. */
  named(name: string): readonly SeenSubject[];
}

interface SubjectChange {
  readonly added: readonly SeenSubject[];
  readonly gone: ReadonlySet<SeenSubject>;
}

export function createSubjectTable(components: Pick<Components, 'all' | 'revision'>): SubjectTable {
  let revision: number | undefined;
  let version = 0;
  let subjects = new Map<Component, SeenSubject>();
  let change: SubjectChange = { added: [], gone: new Set() };
  /** None until somebody asks by name: patterns have no use for it. */
  let byName: Map<string, SeenSubject[]> | undefined;

  function read(): SubjectChange {
    const before = subjects;
    const added: SeenSubject[] = [];
    subjects = new Map();
    for (const component of components.all()) {
      const known = before.get(component);
      const subject = known ?? subjectOf(component);
      if (known === undefined) added.push(subject);
      subjects.set(component, subject);
    }
    const gone = new Set<SeenSubject>();
    if (before.size + added.length > subjects.size)
      for (const [component, subject] of before) if (!subjects.has(component)) gone.add(subject);
    return { added, gone };
  }

  function index(names: Map<string, SeenSubject[]>, { added, gone }: SubjectChange): void {
    const lost = new Set([...gone].flatMap(({ component }) => namesOf(component)));
    for (const name of lost) {
      const rest = (names.get(name) ?? []).filter(subject => !gone.has(subject));
      if (rest.length > 0) names.set(name, rest);
      else names.delete(name);
    }
    for (const subject of added)
      for (const name of namesOf(subject.component)) {
        const present = names.get(name);
        if (present === undefined) names.set(name, [subject]);
        else present.push(subject);
      }
  }

  function named(name: string): readonly SeenSubject[] {
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

/** The subjects a conf means; of a pattern only what has come since is asked. */
export function subjectReader(
  conf: ComponentConf,
  kind: ComponentKinds,
): (table: SubjectTable) => readonly SeenSubject[] {
  const matches = matcher(conf, kind);
  const isMeant = ({ component }: SeenSubject): boolean => matches(component);
  let version = 0;
  let subjects: readonly SeenSubject[] = [];
  let asked = subjects;

  function readOn({ added, gone }: SubjectChange): readonly SeenSubject[] {
    const found = added.filter(isMeant);
    const rest = gone.size > 0 ? subjects.filter(subject => !gone.has(subject)) : subjects;
    return found.length > 0 ? [...rest, ...found] : rest;
  }

  return table => {
    if (table.version === version) return asked;
    if (isExact(conf)) subjects = table.named(conf.name).filter(isMeant);
    else subjects = table.version === version + 1 ? readOn(table.change) : [...table.all()].filter(isMeant);
    version = table.version;
    asked = kind === 'either' ? subjects.map(amongEither) : subjects;
    return asked;
  };
}
