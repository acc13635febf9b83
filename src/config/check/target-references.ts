import { DEFAULT_LIMITS, type EvaluationMeter } from '../../expressions/evaluation.ts';
import { compileExpression } from '../../expressions/expression.ts';
import { conjunctsOf } from '../../expressions/syntax.ts';
import { resolveAliases } from '../../lib/aliases.ts';
import { findTargetType, targetTypes } from '../../targets/index.ts';
import type { RouteRule } from '../../targets/target.ts';
import { didYouMean, type ItemFinding, type ItemFindings, quote } from '../problems.ts';
import { asWritten, childOf } from '../schema-walk.ts';
import type { ConfigItem } from '../yaml/document.ts';
import type { Path } from '../yaml/places.ts';
import type { PairLimit } from './pair-limit.ts';
import { leadingToRecipients, ReachedTargets, resolveTarget, type TargetGraph } from './target-graph.ts';
import { areTrialsOver } from './trials.ts';

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
        .map(({ to, path }) => ({ path, message: () => noSuchTarget(to, graph) })),
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
  const reached = new ReachedTargets(graph);
  const mail = reached.follow(id).find(one => graph.nodes.get(one)?.needsRecipients);
  if (mail === undefined) return undefined;
  const route = mail === id ? quote(id) : `${quote(id)}, by way of ${reached.trailTo(mail).join(' -> ')},`;
  return `target ${route} sends mail, and no recipient is given; name a target of another type`;
}

type Missing = (id: string, path: Path) => ItemFindings;

function missingIn(graph: TargetGraph): Missing {
  const { defaultTarget } = graph;
  return (id, path) => {
    if (defaultTarget === undefined)
      return { problems: [{ path, message: () => noSuchTarget(id, graph) }], warnings: [] };
    const message = () =>
      `${noSuchTarget(id, graph)}; '${defaultTarget.target}' stands in, as target '${defaultTarget.id}' says`;
    return { problems: [], warnings: [{ path, message }] };
  };
}

const NO_FINDINGS: ItemFindings = { problems: [], warnings: [] };

/** Checks that the targets of each notification exist and have the recipients they need. */
export function notificationTargetsChecker(
  graph: TargetGraph,
  pairs: PairLimit,
): (item: ConfigItem) => ItemFindings {
  const missing = missingIn(graph);
  const toRecipients = leadingToRecipients(graph);
  const isPlain = (id: string): boolean => {
    const target = resolveTarget(graph, id);
    return graph.nodes.has(id) && target !== undefined && !toRecipients.has(target);
  };
  /** Most notifications name targets that are there and need to know nothing more: there is nothing to place. */
  function isSound({ value }: ConfigItem): boolean {
    const named = childOf(value, 'targets') ?? [];
    if (!Array.isArray(named)) return false;
    if (childOf(value, 'targetConfigs') !== undefined || childOf(value, 'escalateTo') !== undefined)
      return false;
    return named.every(id => typeof id !== 'string' || isPlain(id));
  }

  return item => {
    if (isSound(item)) return NO_FINDINGS;
    const named = [...textsAt(item, ['targets']), ...textsAt(item, ['escalateTo'])];
    const configs = textsAt(item, ['targetConfigs'], 'id');
    const unknown = [...named, ...configs]
      .filter(({ text }) => !graph.nodes.has(text))
      .map(({ text, path }) => missing(text, path));
    const reached = new ReachedTargets(graph, pairs);
    const edges = named.map(({ text, path }) => ({ path, added: reached.follow(text) }));
    return {
      problems: [
        ...unknown.flatMap(one => one.problems),
        ...configsOfOthers(item, configs, graph),
        ...withoutRecipients(item, configs, { reached, edges }, graph),
      ],
      warnings: [
        ...unknown.flatMap(one => one.warnings),
        ...configs
          .filter(({ text }) => graph.nodes.has(text) && !reached.has(text))
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

/** Where the targets of a notification lead to. */
interface Followed {
  readonly reached: ReachedTargets;
  /** The entry of the notification, and the targets that it is the first to lead to. */
  readonly edges: readonly { readonly path: Path; readonly added: readonly string[] }[];
}

function withoutRecipients(
  item: ConfigItem,
  configs: readonly TextAt[],
  { reached, edges }: Followed,
  { nodes }: TargetGraph,
): ItemFinding[] {
  const configured = new Set(
    configs.flatMap(({ text, index }) => (confAt(item, index) === undefined ? [] : [text])),
  );
  return edges.flatMap(({ path, added }) =>
    added.flatMap(id => {
      const node = nodes.get(id);
      if (!node?.needsRecipients || configured.has(id)) return [];
      const message = () => {
        const trail = reached.trailTo(id);
        const route = trail.length > 1 ? ` (by ${trail.join(' -> ')})` : '';
        return `${node.type} target '${id}'${route} has no recipients; add { id: ${id}, conf: { emailRecipient: { to: … } } } to targetConfigs`;
      };
      return [{ path, message }];
    }),
  );
}

/** Warns of routes that no event takes, as far as their filters prove it. */
export function deadRoutes({ path, value }: ConfigItem, meter: EvaluationMeter): ItemFinding[] {
  const type = childOf(value, 'type');
  const found = typeof type === 'string' ? findTargetType(type) : undefined;
  if (found === undefined) return [];
  const { schema } = found;
  const findings: ItemFinding[] = [];
  let behind: string | undefined;
  const taken = new Map<string, string>();
  for (const [index, rule] of found.routeRules(resolveAliases(schema, value, undefined)).entries()) {
    const verdict = verdictOf(rule, meter);
    const message =
      behind === undefined
        ? (taken.get(rule.filter) ?? (verdict === 'always' ? undefined : verdict && REASONS[verdict]))
        : behind;
    if (message !== undefined)
      findings.push({ path: [...path, ...asWritten(schema, rule.path, value)], message });
    if (!rule.isFinal) continue;
    if (verdict === 'always')
      behind ??= `no event comes here: routes[${index}] above takes all and is final; set 'final: false' there, or remove this route`;
    else if (!taken.has(rule.filter))
      taken.set(
        rule.filter,
        `no event comes here: routes[${index}] above has the same filter and is final; set 'final: false' there, or remove this route`,
      );
  }
  return findings;
}

type RouteVerdict = 'always' | 'never' | 'only-ends';

const REASONS = {
  never: 'this filter is never true, so no event takes the route; remove it or mend the filter',
  'only-ends':
    'only the end of an alarm (status OK) could take this route, and an end goes to the targets that its alarm went to; ' +
    'let the alarm take the route too, or give its target a resolveUrl',
} as const;

/** What can be said of a filter whatever an event holds beside its status; undefined for nothing. */
function verdictOf({ filter }: RouteRule, meter: EvaluationMeter): RouteVerdict | undefined {
  if (!compileExpression(filter).ok) return undefined;
  const parts = conjunctsOf(filter).map(part => truthsOf(part, meter));
  const known = parts.filter(part => part !== undefined);
  const onAlarm = known.every(part => part.onAlarm);
  const onEnd = known.every(part => part.onEnd);
  if (!onAlarm) return onEnd ? 'only-ends' : 'never';
  return known.length === parts.length && onEnd ? 'always' : undefined;
}

interface Truths {
  readonly onAlarm: boolean;
  readonly onEnd: boolean;
}

/** It stands for the event, so that its fields are not among the names. */
const WHOLE_EVENT = '__e';

/** Undefined for a part that reads more than the status, and for one that cannot be read. */
function truthsOf(part: string, meter: EvaluationMeter): Truths | undefined {
  const compiled = compileExpression(part);
  if (!compiled.ok || areTrialsOver(meter)) return undefined;
  const { expression } = compiled;
  const readsMore = expression.names.some(name => name !== 'status') || part.includes(WHOLE_EVENT);
  if (readsMore) return undefined;
  const holds = (status: string): boolean => {
    try {
      return Boolean(expression.evaluate({ status }, { ...DEFAULT_LIMITS, meter }));
    } catch {
      return false;
    }
  };
  return { onAlarm: holds('ALARM'), onEnd: holds('OK') };
}
