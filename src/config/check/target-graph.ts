import { resolveAliases } from '../../lib/aliases.ts';
import { findTargetType } from '../../targets/index.ts';
import { fallbackReferences } from '../../targets/target.ts';
import type { ItemFinding } from '../problems.ts';
import { asWritten, childOf } from '../schema-walk.ts';
import type { ConfigItem } from '../yaml/document.ts';
import type { Path } from '../yaml/places.ts';
import type { PairLimit } from './pair-limit.ts';

/** Where events go on from a target. */
interface TargetEdge {
  readonly to: string;
  /** No default target stands in for it. */
  readonly isRequired: boolean;
  /** Where the file says so. */
  readonly path: Path;
}

interface TargetNode {
  /** As the file says it. */
  readonly type: string;
  readonly isDefault: boolean;
  readonly needsRecipients: boolean;
  readonly path: Path;
  readonly edges: readonly TargetEdge[];
}

/** Edges between targets as the file gives them, whatever else is wrong with the targets. */
export interface TargetGraph {
  /** By id. */
  readonly nodes: ReadonlyMap<string, TargetNode>;
  /** Gets events for ids that no target has. */
  readonly defaultTarget: DefaultTarget | undefined;
}

interface DefaultTarget {
  /** Id of the default target. */
  readonly id: string;
  /** Id of the target it names, which exists. */
  readonly target: string;
}

export function targetGraph(items: readonly ConfigItem[]): TargetGraph {
  const nodes = new Map<string, TargetNode>();
  for (const { id, path, value } of items) {
    if (id !== undefined && !nodes.has(id)) nodes.set(id, nodeOf(path, value));
  }
  return { nodes, defaultTarget: defaultTargetOf(nodes) };
}

function defaultTargetOf(nodes: TargetGraph['nodes']): DefaultTarget | undefined {
  for (const [id, { isDefault, edges }] of nodes) {
    const target = isDefault ? edges.at(-1)?.to : undefined;
    if (target !== undefined && nodes.has(target)) return { id, target };
  }
  return undefined;
}

function nodeOf(path: Path, value: object): TargetNode {
  const written = childOf(value, 'type');
  const type = typeof written === 'string' ? written : '';
  const found = findTargetType(type);
  if (found === undefined) {
    const edges = fallbackReferences(value).map(({ id, ...edge }) => ({
      to: id,
      ...edge,
      path: [...path, ...edge.path],
    }));
    return { type, path, edges, isDefault: false, needsRecipients: false };
  }
  const { schema, isDefault, needsRecipients } = found;
  const edges = found
    .references(resolveAliases(schema, value, undefined))
    .map(({ id, isRequired, path: key }) => ({
      to: id,
      isRequired,
      path: [...path, ...asWritten(schema, key, value)],
    }));
  return { type, path, edges, isDefault, needsRecipients };
}

/** The target an id leads to; the default target answers for ids that no target has. */
export function resolveTarget({ nodes, defaultTarget }: TargetGraph, id: string): string | undefined {
  const node = nodes.get(id);
  if (node === undefined) return defaultTarget?.target;
  return node.isDefault ? node.edges.at(-1)?.to : id;
}

/** Ids of the targets from which events may reach one that needs recipients. */
export function leadingToRecipients(graph: TargetGraph): ReadonlySet<string> {
  const before = new Map<string, string[]>();
  const found = new Set<string>();
  for (const [id, { edges, needsRecipients }] of graph.nodes) {
    if (needsRecipients) found.add(id);
    for (const edge of edges) {
      const to = resolveTarget(graph, edge.to);
      if (to === undefined) continue;
      const ids = before.get(to);
      if (ids === undefined) before.set(to, [id]);
      else ids.push(id);
    }
  }
  // Those that are added meanwhile are visited too.
  for (const id of found) for (const one of before.get(id) ?? []) found.add(one);
  return found;
}

interface Step {
  /** The id that led there, another where a default target stands in. */
  readonly named: string;
  readonly from: string | undefined;
}

/** The targets that events may reach, each with the way there. */
export class ReachedTargets {
  readonly #graph: TargetGraph;
  readonly #pairs: PairLimit | undefined;
  readonly #steps = new Map<string, Step>();

  /** Without a limit a few ids are followed once. */
  constructor(graph: TargetGraph, pairs?: PairLimit) {
    this.#graph = graph;
    this.#pairs = pairs;
  }

  /** Follows an id, and gives the targets that no id before it has reached. */
  follow(id: string): string[] {
    const added: string[] = [];
    const open: Step[] = [{ named: id, from: undefined }];
    for (let step = open.pop(); step !== undefined; step = open.pop()) {
      const target = resolveTarget(this.#graph, step.named);
      if (target === undefined || this.#steps.has(target)) continue;
      if (this.#pairs?.take() === false) break;
      this.#steps.set(target, step);
      added.push(target);
      for (const { to } of this.#graph.nodes.get(target)?.edges ?? []) open.push({ named: to, from: target });
    }
    return added;
  }

  has(target: string): boolean {
    return this.#steps.has(target);
  }

  /** The ids on the way to a target, its own last. */
  trailTo(target: string): string[] {
    const trail: string[] = [];
    for (let at: string | undefined = target; at !== undefined; ) {
      const step: Step | undefined = this.#steps.get(at);
      trail.push(at);
      if (step !== undefined && step.named !== at) trail.push(step.named);
      at = step?.from;
    }
    return trail.reverse();
  }
}

/** Targets that may follow each other by routes and fallbacks: more than anybody can keep in mind is a mistake. */
const MOST_IN_A_ROW = 10;
/** Beyond that nothing is followed any more, however long a row a file holds. */
const MOST_FOLLOWED = 500;

/** Routers and fallbacks that lead back to where they began, or on and on. */
export const findCycles = (graph: TargetGraph): ItemFinding[] => new CycleSearch(graph).search();

class CycleSearch {
  readonly #graph: TargetGraph;
  readonly #findings: ItemFinding[] = [];
  /** How many targets a row that begins here holds at most. */
  readonly #rows = new Map<string, number>();
  /** Those that are followed at present, the last one last. */
  readonly #trail = new Set<string>();
  /** The target that each was followed from. */
  readonly #before = new Map<string, string>();

  constructor(graph: TargetGraph) {
    this.#graph = graph;
  }

  search(): ItemFinding[] {
    for (const id of this.#graph.nodes.keys()) this.#follow(id);
    return this.#findings;
  }

  #follow(id: string, from?: string): number {
    const known = this.#rows.get(id);
    if (known !== undefined) return known;
    if (from !== undefined) this.#before.set(id, from);
    this.#trail.add(id);
    let length = 1;
    for (const edge of this.#graph.nodes.get(id)?.edges ?? [])
      length = Math.max(length, 1 + this.#step(edge, id));
    this.#trail.delete(id);
    this.#rows.set(id, length);
    return length;
  }

  #step(edge: TargetEdge, from: string): number {
    const { nodes, defaultTarget } = this.#graph;
    const next = nodes.has(edge.to) ? edge.to : defaultTarget?.target;
    if (next === undefined) return 0;
    if (this.#trail.has(next)) {
      const message = () => `targets lead in a circle: ${this.#circle(from, next).join(' -> ')}`;
      this.#findings.push({ path: edge.path, message });
      return 0;
    }
    const length = this.#trail.size < MOST_FOLLOWED ? this.#follow(next, from) : MOST_IN_A_ROW;
    if (length === MOST_IN_A_ROW)
      this.#findings.push({
        path: edge.path,
        message: `leads on through more than ${MOST_IN_A_ROW} targets in a row`,
      });
    return length;
  }

  /** From `start` to `last` and back, by the ways that were followed. */
  #circle(last: string, start: string): string[] {
    const circle = [start];
    for (let at: string | undefined = last; at !== undefined && at !== start; at = this.#before.get(at))
      circle.push(at);
    return [...circle, start].reverse();
  }
}
