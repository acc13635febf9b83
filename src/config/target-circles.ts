import type { Finding } from './finding.ts';
import type { TargetGraph, Way } from './target-graph.ts';

/** Targets that may follow each other by routes and fallbacks: more than anybody can keep in mind is a mistake. */
const MOST_IN_A_ROW = 10;
/** Beyond that nothing is followed any more, however long a row a file holds. */
const MOST_FOLLOWED = 500;

/** Routers and fallbacks that lead back to where they began, or on and on. */
export function circles(graph: TargetGraph): Finding[] {
  const findings: Finding[] = [];
  /** How many targets a row that begins here holds at most. */
  const rows = new Map<string, number>();

  function follow(id: string, trail: readonly string[]): number {
    const known = rows.get(id);
    if (known !== undefined) return known;
    const whole = [...trail, id];
    const lengths = (graph.nodes.get(id)?.ways ?? []).map(way => 1 + step(way, whole));
    const length = Math.max(1, ...lengths);
    rows.set(id, length);
    return length;
  }

  function step(way: Way, trail: readonly string[]): number {
    const next = graph.nodes.has(way.to) ? way.to : graph.standIn?.target;
    if (next === undefined) return 0;
    const start = trail.indexOf(next);
    if (start !== -1) {
      const circle = [...trail.slice(start), next].join(' -> ');
      findings.push({ path: way.path, message: `targets lead in a circle: ${circle}` });
      return 0;
    }
    const length = trail.length < MOST_FOLLOWED ? follow(next, trail) : MOST_IN_A_ROW;
    if (length === MOST_IN_A_ROW)
      findings.push({
        path: way.path,
        message: `leads on through more than ${MOST_IN_A_ROW} targets in a row`,
      });
    return length;
  }

  for (const id of graph.nodes.keys()) follow(id, []);
  return findings;
}
