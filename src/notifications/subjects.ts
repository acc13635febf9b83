import type { ComponentConf, ComponentKinds, Subject } from '../conditions/condition.ts';
import { unsliced } from '../lib/unsliced.ts';
import { type Component, type ComponentKind, componentName } from '../pipelines/component.ts';

/** A component that was seen, as conditions are asked about it. */
export interface SeenSubject extends Subject {
  readonly component: Component;
}

/** Whether a notification names one component exactly, so that it counts as declared though it was never seen. */
export const isExact = (conf: Pick<ComponentConf, 'name'>): boolean => !conf.name.includes('*');

/** Everything one may call a component by: `type:id` and the bare id, each with the engine's id and with ours. */
export const namesOf = ({ type, engineId, id }: Component): readonly string[] =>
  id === engineId ? [`${type}:${id}`, id] : [`${type}:${engineId}`, `${type}:${id}`, engineId, id];

/** The components a conf means: its name is one of theirs, or a pattern with `*` for one. */
export function matcher(
  conf: Pick<ComponentConf, 'name' | '__workerGroup'>,
  kind: ComponentKinds,
): (component: Component) => boolean {
  const isNamed = isExact(conf) ? exactly(conf.name) : like(conf.name);
  return component =>
    (kind === 'either' || component.kind === kind) &&
    (conf.__workerGroup === undefined || component.group === conf.__workerGroup) &&
    isNamed(component);
}

/** Most names are told apart by their ends, which costs no look at each way of writing. */
const exactly =
  (name: string) =>
  (component: Component): boolean =>
    (name.endsWith(component.engineId) || name.endsWith(component.id)) && namesOf(component).includes(name);

/** Whether a conf means what has this one name. */
export function nameMatcher(conf: Pick<ComponentConf, 'name'>): (name: string) => boolean {
  return isExact(conf) ? name => name === conf.name : pattern(conf.name);
}

function like(glob: string): (component: Component) => boolean {
  const matches = pattern(glob);
  return component => namesOf(component).some(matches);
}

/** Whether a text is the name, or like it where that has `*`. Linear in the text whatever the pattern: each piece is looked for from where the last one ended. */
export function pattern(glob: string): (text: string) => boolean {
  const pieces = glob.split('*');
  if (pieces.length === 1) return text => text === glob;
  const first = pieces[0] ?? '';
  const last = pieces.at(-1) ?? '';
  const middle = pieces.slice(1, -1).filter(piece => piece !== '');
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

export function subjectOf(component: Component): SeenSubject {
  const name = componentName(component);
  return {
    key: unsliced(`${component.pipeline}/${name}`),
    name: unsliced(name),
    group: component.group,
    component,
    declaredMs: 0,
  };
}

const INPUT_MARK = 'input/';

/** The subject where inputs and outputs are asked about together: some engines call one of each the same. */
export const amongEither = (subject: SeenSubject): SeenSubject =>
  subject.component.kind === 'output'
    ? subject
    : { ...subject, key: `${subject.component.pipeline}/${INPUT_MARK}${subject.name}` };

/** What a subject is that was asked about among inputs and outputs, also when its component is gone. */
export const kindAmongEither = (key: string): ComponentKind =>
  key.slice(key.indexOf('/') + 1).startsWith(INPUT_MARK) ? 'input' : 'output';

/** `*` stands for the pipeline: a name alone does not say in which it will turn up. */
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
