import { resolveAliases } from '../../lib/aliases.ts';
import { findTargetType } from '../../targets/index.ts';
import { fallbackReferences } from '../../targets/target.ts';
import type { ItemFinding } from '../problems.ts';
import { asWritten, childOf } from '../schema-walk.ts';
import type { ConfigItem } from '../yaml/document.ts';
import type { Path } from '../yaml/places.ts';

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

/** Every target that events for `id` may reach, each with the ids on the way, its own last. */
export function reachableFrom(graph: TargetGraph, id: string): ReadonlyMap<string, readonly string[]> {
  const trails = new Map<string, readonly string[]>();
  const open: (readonly string[])[] = [[id]];
  for (let trail = open.pop(); trail !== undefined; trail = open.pop()) {
    const named = trail.at(-1) ?? id;
    const target = resolveTarget(graph, named);
    if (target === undefined || trails.has(target)) continue;
    const whole = target === named ? trail : [...trail, target];
    trails.set(target, whole);
    for (const edge of graph.nodes.get(target)?.edges ?? []) open.push([...whole, edge.to]);
  }
  return trails;
}

/** Targets that may follow each other by routes and fallbacks: more than anybody can keep in mind is a mistake. */
const MOST_IN_A_ROW = 10;
/** Beyond that nothing is followed any more, however long a row a file holds. */
const MOST_FOLLOWED = 500;

/** Routers and fallbacks that lead back to where they began, or on and on. */
export function findCycles(graph: TargetGraph): ItemFinding[] {
  const findings: ItemFinding[] = [];
  /** How many targets a row that begins here holds at most. */
  const rows = new Map<string, number>();

  function follow(id: string, trail: readonly string[]): number {
    const known = rows.get(id);
    if (known !== undefined) return known;
    const whole = [...trail, id];
    const lengths = (graph.nodes.get(id)?.edges ?? []).map(edge => 1 + step(edge, whole));
    const length = lengths.reduce((most, one) => Math.max(most, one), 1);
    rows.set(id, length);
    return length;
  }

  function step(edge: TargetEdge, trail: readonly string[]): number {
    const next = graph.nodes.has(edge.to) ? edge.to : graph.defaultTarget?.target;
    if (next === undefined) return 0;
    const start = trail.indexOf(next);
    if (start !== -1) {
      const cycle = [...trail.slice(start), next].join(' -> ');
      findings.push({ path: edge.path, message: `targets lead in a circle: ${cycle}` });
      return 0;
    }
    const length = trail.length < MOST_FOLLOWED ? follow(next, trail) : MOST_IN_A_ROW;
    if (length === MOST_IN_A_ROW)
      findings.push({
        path: edge.path,
        message: `leads on through more than ${MOST_IN_A_ROW} targets in a row`,
      });
    return length;
  }

  for (const id of graph.nodes.keys()) follow(id, []);
  return findings;
}
