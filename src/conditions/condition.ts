import * as z from 'zod';
import type { RenderedTemplate } from '../expressions/template.ts';
import { type Duration, formatDuration } from '../lib/duration.ts';
import { duration } from '../lib/schemas.ts';
import type { Component, Components } from '../pipelines/components/component.ts';
import type { ComponentKind } from '../pipelines/metric.ts';

/** What a condition is asked about: a component, or a name that was declared and never seen. */
export interface Subject {
  /** Unique among the subjects of a notification; the incident's subject. */
  readonly key: string;
  /** `type:id` */
  readonly name: string;
  readonly group: string;
  readonly component: Component | undefined;
  /** Observed milliseconds since the name was declared; only for one never seen. */
  readonly declaredMs: number;
}

/** What a condition says of a subject now. `unknown` neither opens nor closes anything. */
export type Verdict =
  | { readonly state: 'alarm'; readonly describe: () => Description }
  | {
      readonly state: 'ok';
      readonly describe: () => Description;
      /** For so many milliseconds it stays so, whatever comes or does not: nobody has to ask. */
      readonly okForMs?: number;
    }
  | {
      readonly state: 'unknown';
      readonly reason: string;
      /** Whoever wrote the notification should be warned of it. */
      readonly isFault?: boolean;
    };

/** Made only when a verdict is told to somebody: most evaluations change nothing. */
export interface Description {
  readonly text: string;
  /** Fields the condition adds to its event. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** What stands empty in the text that a setting gives; left out, nothing does. */
  readonly gaps?: Gaps;
}

interface Gaps extends Omit<RenderedTemplate, 'text'> {
  /** Name of the setting. */
  readonly setting: string;
}

export interface ComponentEvaluation {
  readonly subject: Subject;
  readonly components: Components;
  /** The open incident on this subject. */
  readonly open: OpenFor | undefined;
}

/** How long an incident has been open. */
export interface OpenFor {
  /** Since it opened, on the wall clock: for people. */
  readonly ms: number;
  /** As far as this process has watched, on the monotonic clock: what was seen since must be younger. */
  readonly observedMs: number;
}

/** What components a rule looks at. */
export type ComponentKinds = ComponentKind | 'either';

/** What every condition on components has in its conf. */
export interface ComponentConf {
  /** `type:id`, an id, or a pattern with `*`. */
  readonly name: string;
  readonly timeWindow: Duration;
  readonly notifyOnResolution: boolean;
  readonly __workerGroup?: string | undefined;
  /** Of a condition on either kind: which of them alone. */
  readonly kind?: ComponentKind | undefined;
}

type ComponentCategory = 'sources' | 'destinations' | 'components';

interface ComponentDefinition<Conf extends ComponentConf> {
  readonly id: string;
  readonly name: string;
  readonly category: ComponentCategory;
  readonly description: string;
  readonly kind: ComponentKinds;
  readonly schema: z.ZodType<Conf>;
  /** As `ComponentRule` has it; left out where nothing is an alarm because the pipeline cannot be read. */
  inhibitionGraceMs?(conf: Conf): number;
  /** Pure: the same evaluation and conf give the same verdict. */
  evaluate(evaluation: ComponentEvaluation, conf: Conf): Verdict;
}

/** A kind of rule on components, its conf's type hidden behind `configure`. */
export interface ComponentCondition {
  readonly source: 'component';
  readonly id: string;
  readonly name: string;
  readonly type: 'metric';
  readonly category: ComponentCategory;
  readonly description: string;
  readonly kind: ComponentKinds;
  readonly schema: z.ZodType<ComponentConf>;
  /** Validates a raw conf; throws `z.ZodError`. */
  configure(raw: unknown): ComponentRule;
}

/** A condition on components with its conf. */
export interface ComponentRule {
  readonly source: 'component';
  readonly condition: ComponentCondition;
  /** Effective conf; serialises to what a file would say. */
  readonly conf: ComponentConf;
  /**
   * How long after its pipeline can be read again an alarm may still come of the time when it could not; undefined where
   * none comes of that.
   */
  readonly inhibitionGraceMs: number | undefined;
  readonly kind: ComponentKinds;
  evaluate(evaluation: ComponentEvaluation): Verdict;
}

export function defineComponentCondition<Conf extends ComponentConf>(
  definition: ComponentDefinition<Conf>,
): ComponentCondition {
  const condition: ComponentCondition = {
    source: 'component',
    id: definition.id,
    name: definition.name,
    type: 'metric',
    category: definition.category,
    description: definition.description,
    kind: definition.kind,
    schema: definition.schema,
    configure(raw) {
      const conf = definition.schema.parse(raw);
      return {
        source: 'component',
        condition,
        conf,
        inhibitionGraceMs: definition.inhibitionGraceMs?.(conf),
        kind: conf.kind ?? definition.kind,
        evaluate: evaluation => definition.evaluate(evaluation, conf),
      };
    },
  };
  return condition;
}

/** What every condition over a stretch of time has in its conf; `window` says what its timeWindow is. */
export const windowConf = (kind: ComponentKinds | 'pipeline', window: string) => ({
  timeWindow: duration({ min: '1s' }).prefault('60s').describe(window),
  notifyOnResolution: z
    .boolean()
    .default(true)
    .describe('true: one message at the start, one at the end. false: one each timeWindow while it lasts.'),
  __workerGroup: z
    .string()
    .min(1)
    .optional()
    .describe(`Only ${kindLabel(kind, 's')} of this group.`),
});

/** What every condition on components has in its conf. */
export const componentConf = (kind: ComponentKinds, window: string) => ({
  name: z
    .string()
    .min(1)
    .describe(`The ${kindLabel(kind)}: \`type:id\`, an id, or a pattern with \`*\`.`),
  ...windowConf(kind, window),
});

const kindLabel = (kind: ComponentKinds | 'pipeline', plural = ''): string =>
  kind === 'either' ? `input${plural} or output${plural}` : `${kind}${plural}`;

/** The key that narrows a condition on inputs and outputs. */
export const eitherConf = {
  kind: z.enum(['input', 'output']).optional().describe('Only this kind; left out, both.'),
};

interface ConditionFields<Source extends string, Kind extends string> {
  readonly source: Source;
  /** What its subjects are, as events name them. */
  readonly kind: Kind;
  readonly id: string;
  readonly name: string;
  readonly type: 'metric' | 'message';
  readonly category: string;
  readonly description: string;
}

/** What is asked: about `subject`, at `now` (epoch ms). */
export interface SubjectEvaluation<Subject> {
  readonly subject: Subject;
  readonly now: number;
  /** The open incident on this subject. */
  readonly open: OpenFor | undefined;
}

interface EvaluatedDefinition<Source extends string, Kind extends string, Conf extends object, Subject>
  extends ConditionFields<Source, Kind> {
  readonly schema: z.ZodType<Conf>;
  /** Pure: the same question and conf give the same verdict. */
  evaluate(evaluation: SubjectEvaluation<Subject>, conf: Conf): Verdict;
}

/** A kind of rule on what is no component, and is asked about one by one. */
export interface EvaluatedCondition<Source extends string, Kind extends string, Conf extends object, Subject>
  extends ConditionFields<Source, Kind> {
  readonly schema: z.ZodType<Conf>;
  /** Validates a raw conf; throws `z.ZodError`. */
  configure(raw: unknown): EvaluatedRule<Source, Kind, Conf, Subject>;
}

/** Such a condition with its conf. */
export interface EvaluatedRule<Source extends string, Kind extends string, Conf extends object, Subject> {
  readonly source: Source;
  readonly condition: EvaluatedCondition<Source, Kind, Conf, Subject>;
  /** Effective conf; serialises to what a file would say. */
  readonly conf: Conf;
  evaluate(evaluation: SubjectEvaluation<Subject>): Verdict;
}

export function defineEvaluatedCondition<
  Source extends string,
  Kind extends string,
  Conf extends object,
  Subject,
>(
  definition: EvaluatedDefinition<Source, Kind, Conf, Subject>,
): EvaluatedCondition<Source, Kind, Conf, Subject> {
  const { source, schema, evaluate, ...fields } = definition;
  const condition: EvaluatedCondition<Source, Kind, Conf, Subject> = {
    source,
    ...fields,
    schema,
    configure(raw) {
      const conf = schema.parse(raw);
      return { source, condition, conf, evaluate: evaluation => evaluate(evaluation, conf) };
    },
  };
  return condition;
}

/** `type:id`, with the group where it is not the one everybody is in. */
export const subjectName = ({ name, group }: Subject): string =>
  group === 'default' ? name : `${name} in group ${group}`;

/** The same with what it is. */
export const subjectTitle = (kind: ComponentKind, subject: Subject): string =>
  `${kind === 'input' ? 'Source' : 'Destination'} ${subjectName(subject)}`;

/** How long an incident has lasted, for its end. */
export const openDuration = (open: OpenFor | undefined): string => formatDuration(open?.ms ?? 0);

/** The reason, with a colon, where the pipeline itself cannot be read or the name was never seen; else nothing. */
export function causeSuffix({ subject, components }: ComponentEvaluation): string {
  if (subject.component === undefined) return ': it was never seen';
  const pipeline = components.pipeline(subject.component.pipeline);
  if (pipeline === undefined || pipeline.state !== 'unreachable') return '';
  return `: pipeline unreachable${pipeline.error === null ? '' : `: ${pipeline.error}`}`;
}

/** A point in time (epoch ms) to the second, in UTC: `2026-01-01T00:00:00Z`. */
export const formatTime = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
