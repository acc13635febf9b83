import { targetTypes } from '../../targets/index.ts';
import { didYouMean, type ItemFinding, type ItemFindings, quote } from '../problems.ts';
import { childOf } from '../schema-walk.ts';
import type { ConfigItem } from '../yaml/document.ts';
import type { Path } from '../yaml/places.ts';
import { reachableFrom, type TargetGraph } from './target-graph.ts';

/** Checks that the ids that targets refer to exist or have a default target, of which there is one at most. */
export function checkTargetEdges(graph: TargetGraph): ItemFindings {
  const missing = missingIn(graph);
  const found = [...graph.nodes.values()].flatMap(({ edges }) =>
    edges.filter(({ to }) => !graph.nodes.has(to)),
  );
  const named = found.filter(({ isRequired }) => !isRequired).map(({ to, path }) => missing(to, path));
  return {
    problems: [
      ...found
        .filter(({ isRequired }) => isRequired)
        .map(({ to, path }) => ({ path, message: noSuchTarget(to, graph) })),
      ...named.flatMap(one => one.problems),
      ...secondDefaults(graph),
    ],
    warnings: named.flatMap(one => one.warnings),
  };
}

function secondDefaults(graph: TargetGraph): ItemFinding[] {
  const [first, ...others] = [...graph.nodes].filter(([, { isDefault }]) => isDefault);
  return others.map(([, { path }]) => ({
    path: [...path, 'type'],
    message: `there is a default target already, '${first?.[0]}'; only one can stand in`,
  }));
}

const noSuchTarget = (id: string, graph: TargetGraph): string =>
  `target ${quote(id)} does not exist${didYouMean(id, graph.nodes.keys())}`;

/** The operational target gets messages of no notification, so nothing it reaches may need recipients. */
export function operationalProblem(id: string, graph: TargetGraph): string | undefined {
  if (!graph.nodes.has(id)) return noSuchTarget(id, graph);
  const reached = [...reachableFrom(graph, id)];
  const mail = reached.find(([one]) => graph.nodes.get(one)?.needsRecipients);
  if (mail === undefined) return undefined;
  const [mailTarget, trail] = mail;
  const route = mailTarget === id ? quote(id) : `${quote(id)}, by way of ${trail.join(' -> ')},`;
  return `target ${route} sends mail, and no recipient is given; name a target of another type`;
}

type Missing = (id: string, path: Path) => ItemFindings;

/** The same name is often missing many times, and its likely meaning takes long to find. */
function missingIn(graph: TargetGraph): Missing {
  const messages = new Map<string, string>();
  const { defaultTarget } = graph;
  return (id, path) => {
    const message = messages.get(id) ?? noSuchTarget(id, graph);
    messages.set(id, message);
    if (defaultTarget === undefined) return { problems: [{ path, message }], warnings: [] };
    const warning = `${message}; '${defaultTarget.target}' stands in, as target '${defaultTarget.id}' says`;
    return { problems: [], warnings: [{ path, message: warning }] };
  };
}

const NO_FINDINGS: ItemFindings = { problems: [], warnings: [] };

/** Checks that the targets of each notification exist and have the recipients they need. */
export function notificationTargetsChecker(graph: TargetGraph): (item: ConfigItem) => ItemFindings {
  const missing = missingIn(graph);
  const reached = new Map<string, ReturnType<typeof reachableFrom>>();
  const reachedBy = (id: string): ReturnType<typeof reachableFrom> => {
    const known = reached.get(id) ?? reachableFrom(graph, id);
    reached.set(id, known);
    return known;
  };

  const needsNothing = new Map<string, boolean>();
  function isPlain(id: string): boolean {
    const known = needsNothing.get(id);
    if (known !== undefined) return known;
    const leadsToMail = [...reachedBy(id).keys()].some(one => graph.nodes.get(one)?.needsRecipients);
    const answer = graph.nodes.has(id) && !leadsToMail;
    needsNothing.set(id, answer);
    return answer;
  }
  /** Most notifications name targets that are there and need to know nothing more: there is nothing to place. */
  function isSound({ value }: ConfigItem): boolean {
    const named = childOf(value, 'targets') ?? [];
    if (childOf(value, 'targetConfigs') !== undefined || !Array.isArray(named)) return false;
    return named.every(id => typeof id !== 'string' || isPlain(id));
  }

  return item => {
    if (isSound(item)) return NO_FINDINGS;
    const named = textsAt(item, ['targets']);
    const configs = textsAt(item, ['targetConfigs'], 'id');
    const unknown = [...named, ...configs]
      .filter(({ text }) => !graph.nodes.has(text))
      .map(({ text, path }) => missing(text, path));
    const edges = named.map(({ text, path }) => ({ path, trails: reachedBy(text) }));
    return {
      problems: [
        ...unknown.flatMap(one => one.problems),
        ...configsOfOthers(item, configs, graph),
        ...withoutRecipients(item, configs, edges, graph),
      ],
      warnings: [
        ...unknown.flatMap(one => one.warnings),
        ...configs
          .filter(({ text }) => graph.nodes.has(text) && !edges.some(({ trails }) => trails.has(text)))
          .map(({ text, path }) => ({
            path,
            message: `no target of this notification leads to '${text}'; an entry here alone delivers nothing`,
          })),
      ],
    };
  };
}

const RECIPIENT_TYPES = targetTypes
  .filter(({ needsRecipients }) => needsRecipients)
  .map(({ type }) => type)
  .join(' and ');

interface TextAt {
  readonly text: string;
  readonly path: Path;
  readonly index: number;
}

/** The texts of a list, or of one key of its items. */
function textsAt(item: ConfigItem, [list]: readonly [string], key?: string): TextAt[] {
  const values = childOf(item.value, list);
  if (!Array.isArray(values)) return [];
  return values.flatMap((value: unknown, index) => {
    const text = key === undefined ? value : childOf(value, key);
    if (typeof text !== 'string') return [];
    return [{ text, index, path: [...item.path, list, index, ...(key === undefined ? [] : [key])] }];
  });
}

const confAt = (item: ConfigItem, index: number): unknown =>
  childOf(childOf(childOf(item.value, 'targetConfigs'), index), 'conf');

const configsOfOthers = (item: ConfigItem, configs: readonly TextAt[], graph: TargetGraph): ItemFinding[] =>
  configs.flatMap(({ text, index }) => {
    const node = graph.nodes.get(text);
    if (node === undefined || node.needsRecipients || confAt(item, index) === undefined) return [];
    const { type } = node;
    return [
      {
        path: [...item.path, 'targetConfigs', index, 'conf'],
        message: `conf is for ${RECIPIENT_TYPES} targets only, and '${text}' is ${type === '' ? 'none' : `a ${type} target`}; remove conf`,
      },
    ];
  });

interface ReachedTargets {
  readonly path: Path;
  readonly trails: ReadonlyMap<string, readonly string[]>;
}

function withoutRecipients(
  item: ConfigItem,
  configs: readonly TextAt[],
  edges: readonly ReachedTargets[],
  { nodes }: TargetGraph,
): ItemFinding[] {
  const configured = new Set(
    configs.flatMap(({ text, index }) => (confAt(item, index) === undefined ? [] : [text])),
  );
  return edges.flatMap(({ path, trails }) =>
    [...trails].flatMap(([id, trail]) => {
      const node = nodes.get(id);
      if (!node?.needsRecipients || configured.has(id)) return [];
      configured.add(id);
      const route = trail.length > 1 ? ` (by ${trail.join(' -> ')})` : '';
      return [
        {
          path,
          message: `${node.type} target '${id}'${route} has no recipients; add { id: ${id}, conf: { emailRecipient: { to: … } } } to targetConfigs`,
        },
      ];
    }),
  );
}
