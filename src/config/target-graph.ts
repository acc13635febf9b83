import { findTargetType } from '../targets/index.ts';
import type { Item } from './items.ts';
import { asWritten, childOf } from './schema-walk.ts';
import type { Path } from './yaml-places.ts';

/** Where events go on from a target: a route of a router, a fallback, what a default target names. */
export interface Way {
  readonly to: string;
  /** Where the file says so. */
  readonly path: Path;
}

interface Node {
  readonly type: string;
  readonly path: Path;
  readonly ways: readonly Way[];
}

/** How targets lead to each other, as the file says it, whatever else is wrong with them. */
export interface TargetGraph {
  /** By id. */
  readonly nodes: ReadonlyMap<string, Node>;
  /** What stands in for ids that nobody has. */
  readonly standIn: StandIn | undefined;
}

interface StandIn {
  /** Id of the default target. */
  readonly id: string;
  /** Id of the target it names, which exists. */
  readonly target: string;
}

export function targetGraph(items: readonly Item[]): TargetGraph {
  const nodes = new Map<string, Node>();
  for (const { id, path, value } of items) {
    const type = childOf(value, 'type');
    if (id === undefined || nodes.has(id)) continue;
    nodes.set(id, { type: typeof type === 'string' ? type : '', path, ways: waysOf(path, value) });
  }
  return { nodes, standIn: standInOf(nodes) };
}

function standInOf(nodes: TargetGraph['nodes']): StandIn | undefined {
  for (const [id, { type, ways }] of nodes) {
    const target = type === 'default' ? ways.at(-1)?.to : undefined;
    if (target !== undefined && nodes.has(target)) return { id, target };
  }
  return undefined;
}

function waysOf(path: Path, value: object): Way[] {
  const type = childOf(value, 'type');
  return [
    ...wayAt(path, value, 'fallback'),
    ...(type === 'router' ? routesOf(path, value) : []),
    ...(type === 'default' ? wayAt(path, value, 'defaultId') : []),
  ];
}

function wayAt(path: Path, value: unknown, key: string): Way[] {
  const to = childOf(value, key);
  return typeof to === 'string' ? [{ to, path: [...path, key] }] : [];
}

function routesOf(path: Path, value: object): Way[] {
  const schema = findTargetType('router')?.schema;
  const [key = 'routes'] = schema === undefined ? [] : asWritten(schema, ['routes'], value);
  const routes = childOf(value, key);
  if (!Array.isArray(routes)) return [];
  return routes.flatMap((route, index) => wayAt([...path, key, index], route, 'output'));
}

/** The target an id leads to: what stands in where nobody has it, and what a default target names. */
export function resolved({ nodes, standIn }: TargetGraph, id: string): string | undefined {
  const node = nodes.get(id);
  if (node === undefined) return standIn?.target;
  return node.type === 'default' ? node.ways.at(-1)?.to : id;
}

/** Every target that events for `id` may reach, each with the ids on the way, its own last. */
export function reachedFrom(graph: TargetGraph, id: string): ReadonlyMap<string, readonly string[]> {
  const trails = new Map<string, readonly string[]>();
  const open: (readonly string[])[] = [[id]];
  for (let trail = open.pop(); trail !== undefined; trail = open.pop()) {
    const named = trail.at(-1) ?? id;
    const target = resolved(graph, named);
    if (target === undefined || trails.has(target)) continue;
    const whole = target === named ? trail : [...trail, target];
    trails.set(target, whole);
    for (const way of graph.nodes.get(target)?.ways ?? []) open.push([...whole, way.to]);
  }
  return trails;
}
