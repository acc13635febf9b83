import * as z from 'zod';
import type { RenderedTemplate } from '../expressions/template.ts';
import { type Duration, formatDuration } from '../lib/duration.ts';
import { duration } from '../lib/schemas.ts';
import type { Component, Components, Measurement } from '../pipelines/components/component.ts';
import type { ComponentKind, Windowed } from '../pipelines/metric.ts';

/** A component that is evaluated, or a name that was declared and never seen. */
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

/** The result of an evaluation. `unknown` neither opens nor closes anything. */
export type Verdict =
  | { readonly state: 'alarm'; readonly describe: () => Description }
  | {
      readonly state: 'ok';
      readonly describe: () => Description;
      /** It stays ok for so many milliseconds, whatever data comes: no evaluation is needed. */
      readonly okForMs?: number;
    }
  | {
      readonly state: 'unknown';
      readonly reason: string;
      /** The notification itself is at fault, so its author is warned. */
      readonly isFault?: boolean;
    };

/** Made only when a verdict is notified: most evaluations change nothing. */
export interface Description {
  readonly text: string;
  /** Fields the condition adds to its event. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** A state of the subject that the incident keeps until its next event. */
  readonly reportedState?: string;
  /** Places that stay empty in the text of a setting; by default there are none. */
  readonly gaps?: Gaps;
}

interface Gaps extends Omit<RenderedTemplate, 'text'> {
  readonly setting: string;
}

/** A number that a verdict goes by. */
export interface MeasuredFact {
  /** What is measured, for people. */
  readonly name: string;
  /** Undefined while it is not known. */
  readonly value: number | undefined;
  readonly unit: 'milliseconds' | 'bytes' | 'events' | 'per cent' | 'days' | 'number';
  /** What makes an alarm of it; undefined where it only explains another one. */
  readonly alarm?: {
    readonly when: 'more than' | 'less than' | 'at least' | 'at most';
    readonly limit: number;
  };
  /** The stretch of time that it is measured over, and how much of that was observed, in milliseconds. */
  readonly windowMs?: number;
  readonly observedMs?: number;
  /** Why it is not known. */
  readonly unknown?: string | undefined;
}

/** Why a condition gives the verdict that it gives, and what another one would take. */
export interface Explanation {
  readonly facts: readonly MeasuredFact[];
  /** In how many milliseconds it can be an alarm at the earliest; 0 with the next evaluation. */
  readonly alarmInMs: number;
  /** What has to be so until then, for people. */
  readonly provided: string;
  /** The alarm as it would be described then. */
  readonly alarm: () => Description;
}

/** A sum over a window as a fact; a text says why there is none. */
export const sumFact = (
  fact: Omit<MeasuredFact, 'value' | 'observedMs' | 'unknown'>,
  measured: Measurement | string,
): MeasuredFact =>
  typeof measured === 'string'
    ? { ...fact, value: undefined, unknown: measured }
    : { ...fact, value: measured.sum, observedMs: Math.min(measured.observedMs, fact.windowMs ?? Infinity) };

/** How long an incident has been open. */
export interface OpenFor {
  /** Since it opened, on the wall clock: for people. */
  readonly ms: number;
  /** As far as this process has observed it, on the observed clock: what was seen since must be younger. */
  readonly observedMs: number;
  /** The condition has ended and the alarm is kept: it holds again by what would open an incident. */
  readonly isKept?: boolean;
}

/** The open incident whose end needs evidence of its own; undefined where the condition has ended before. */
export const unendedOf = (open: OpenFor | undefined): OpenFor | undefined =>
  open?.isKept === true ? undefined : open;

/** The kinds of components that a rule looks at. */
export type ComponentKinds = ComponentKind | 'either';

/** The kind of a rule's subjects, as events name it; `key` is that of external events. */
export type SubjectKind = ComponentKinds | 'pipeline' | 'certificate' | 'credential' | 'key';

/** An alarm such as a condition may raise, to try expressions on. */
interface Sample {
  readonly subject: string;
  /** Fields that the condition adds, with values as they are in an alarm. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A notification that shows how a condition is used; the first configuration file lists one for each. */
interface Example {
  readonly id: string;
  readonly conf?: Readonly<Record<string, string | number>>;
}

/** Traits that a condition declares beside its schema and its evaluation, whatever its source. */
export interface ConditionTraits {
  readonly id: string;
  readonly name: string;
  readonly type: 'metric' | 'message' | 'search' | 'monitor-alerts';
  readonly category: string;
  readonly description: string;
  readonly kind: SubjectKind;
  /** Undefined where senders of external events decide which fields an event has. */
  readonly sample?: Sample;
  /** Names of fields that the condition adds to some events and that its sample lacks. */
  readonly otherFields?: readonly string[];
  readonly example: Example;
  /** Its events come from outside, and their senders may add any fields. */
  readonly receivesEvents?: boolean;
  /** Fields that senders may add and that the condition understands. */
  readonly senderFields?: readonly string[];
}

/** The definition of a condition gives the fields of its sample only. */
type DefinedTraits = Omit<ConditionTraits, 'sample'> & { readonly sample: Sample['fields'] };

/** Traits of a rule, a condition with its conf, that are known without an evaluation. */
export interface RuleTraits {
  readonly kind: SubjectKind;
  /** Length of the stretch of time that is evaluated; 0 where there is none. */
  readonly windowMs: number;
  /** How often an open incident is notified again by default; null for never. */
  readonly repeatMs: number | null;
  /** Why its alarms cannot be pending with `for`; undefined where they can. */
  readonly noPending?: string;
  /** True where it compares with what is usual: a backtest needs the hours of the days before, too. */
  readonly readsUsual?: boolean;
  /** Why its incidents cannot outlast their condition; undefined where they can. */
  readonly noKeeping?: string;
  /** The readings that it evaluates; undefined where it evaluates none. */
  readonly readings?: { readonly window: Duration; readonly pipelines: NameSelector };
  readonly components?: ComponentSelector;
  readonly pipelines?: NameSelector;
}

/** A name, or a pattern with `*`, and optionally the only group that counts. */
export interface NameSelector {
  readonly name: string;
  readonly __workerGroup?: string | undefined;
}

interface ComponentSelector extends NameSelector {
  readonly kind: ComponentKinds;
}

interface WindowConf {
  readonly timeWindow: Duration;
  readonly notifyOnResolution: boolean;
}

/**
 * Derives the traits from a time window: when resolution is not notified, the incident is notified again each window.
 */
export const windowTraits = ({ timeWindow, notifyOnResolution }: WindowConf) => ({
  windowMs: timeWindow.ms,
  repeatMs: notifyOnResolution ? null : timeWindow.ms,
});

export interface ComponentEvaluation {
  readonly subject: Subject;
  readonly components: Components;
  readonly open: OpenFor | undefined;
}

/** A value that a verdict rests on, and whether one lets it be ok. */
export interface OkBound {
  /** Milliseconds of the component, or the sum of a metric over so many milliseconds. */
  readonly value: 'silentMs' | 'unreadMs' | { readonly metric: Windowed; readonly ms: number };
  readonly holds: (value: number) => boolean;
  /** For how long `holds` decides, in ms; left out where it always does. */
  readonly forMs?: number | undefined;
}

/** The conf that all conditions on components share. */
export interface ComponentConf extends WindowConf {
  /** `type:id`, an id, or a pattern with `*`. */
  readonly name: string;
  readonly __workerGroup?: string | undefined;
  /** Narrows a condition on both kinds to one. */
  readonly kind?: ComponentKind | undefined;
}

type ComponentCategory = 'sources' | 'destinations' | 'components';

interface ComponentDefinition<Conf extends ComponentConf> extends Omit<DefinedTraits, 'type'> {
  readonly category: ComponentCategory;
  readonly kind: ComponentKinds;
  readonly schema: z.ZodType<Conf>;
  /** The same as in `ComponentRule`; omitted where an unreachable pipeline causes no alarm. */
  readonly inhibitionGraceMs?: (conf: Conf) => number;
  /** The same as in `RuleTraits`. */
  readonly readsUsual?: boolean;
  /** Pure: the same evaluation and conf give the same verdict. */
  readonly evaluate: (evaluation: ComponentEvaluation, conf: Conf) => Verdict;
  /** The same as in `ComponentRule`. */
  readonly okWhile?: (evaluation: ComponentEvaluation, conf: Conf) => readonly OkBound[] | undefined;
  /** Gives the numbers that `evaluate` goes by. */
  readonly explain: (evaluation: ComponentEvaluation, conf: Conf) => Explanation;
}

/** A kind of rule on components, its conf's type hidden behind `configure`. */
export interface ComponentCondition extends ConditionTraits {
  readonly source: 'component';
  readonly kind: ComponentKinds;
  readonly schema: z.ZodType<ComponentConf>;
  /** Validates a raw conf; throws `z.ZodError`. */
  configure(raw: unknown): ComponentRule;
}

/** A condition on components with its conf. */
export interface ComponentRule extends RuleTraits {
  readonly source: 'component';
  readonly condition: ComponentCondition;
  /** Effective conf; serialises to what a file would say. */
  readonly conf: ComponentConf;
  readonly components: ComponentSelector;
  /**
   * How long after its pipeline can be read again an alarm may still result from the outage; undefined where none does.
   */
  readonly inhibitionGraceMs: number | undefined;
  readonly kind: ComponentKinds;
  evaluate(evaluation: ComponentEvaluation): Verdict;
  /**
   * Of a component that is ok and has no incident: what keeps it so as long as all of it holds, and needs no evaluation
   * where what comes is known. Undefined where its verdict rests on more.
   */
  okWhile?(evaluation: ComponentEvaluation): readonly OkBound[] | undefined;
  explain(evaluation: ComponentEvaluation): Explanation;
}

const COMPONENT_SAMPLE = {
  subject: 'syslog:app',
  fields: { timeWindow: '60s', __worker_group: 'default', __pipeline: 'sample' },
};

/** Any pipeline may hold the component. */
const ANY_PIPELINE: NameSelector = { name: '*' };

export function defineComponentCondition<Conf extends ComponentConf>(
  definition: ComponentDefinition<Conf>,
): ComponentCondition {
  const { schema, inhibitionGraceMs, readsUsual, evaluate, explain, okWhile, ...rest } = definition;
  const { sample, kind, ...traits } = rest;
  const sampleKind = kind === 'either' ? 'output' : kind;
  const condition: ComponentCondition = {
    ...traits,
    source: 'component',
    type: 'metric',
    kind,
    schema,
    sample: {
      subject: COMPONENT_SAMPLE.subject,
      fields: {
        [sampleKind]: COMPONENT_SAMPLE.subject,
        origin_metadata: { type: sampleKind, id: 'app', subType: 'syslog' },
        ...COMPONENT_SAMPLE.fields,
        ...sample,
      },
    },
    configure(raw) {
      const conf = schema.parse(raw);
      const { name, __workerGroup, timeWindow, kind: only = kind } = conf;
      return {
        ...windowTraits(conf),
        source: 'component',
        condition,
        conf,
        kind: only,
        readings: { window: timeWindow, pipelines: ANY_PIPELINE },
        components: { name, __workerGroup, kind: only },
        inhibitionGraceMs: inhibitionGraceMs?.(conf),
        ...(readsUsual !== undefined && { readsUsual }),
        evaluate: evaluation => evaluate(evaluation, conf),
        ...(okWhile !== undefined && { okWhile: evaluation => okWhile(evaluation, conf) }),
        explain: evaluation => explain(evaluation, conf),
      };
    },
  };
  return condition;
}

/** The keys that all conditions over a stretch of time have; `window` describes the timeWindow. */
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

/** The keys that all conditions on components have. */
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

/** The evaluation of `subject` at `now` (epoch ms). */
export interface SubjectEvaluation<Subject> {
  readonly subject: Subject;
  readonly now: number;
  readonly open: OpenFor | undefined;
}

interface EvaluatedDefinition<Source extends string, Kind extends SubjectKind, Conf extends object, Subject>
  extends DefinedTraits {
  readonly source: Source;
  readonly kind: Kind;
  readonly sampleSubject: string;
  readonly schema: z.ZodType<Conf>;
  readonly traits: (conf: Conf) => Omit<RuleTraits, 'kind'>;
  /** Pure: the same evaluation and conf give the same verdict. */
  readonly evaluate: (evaluation: SubjectEvaluation<Subject>, conf: Conf) => Verdict;
  /** Gives the numbers that `evaluate` goes by. */
  readonly explain: (evaluation: SubjectEvaluation<Subject>, conf: Conf) => Explanation;
}

/** A kind of rule on subjects that are no components and are evaluated one by one. */
export interface EvaluatedCondition<
  Source extends string,
  Kind extends SubjectKind,
  Conf extends object,
  Subject,
> extends ConditionTraits {
  readonly source: Source;
  readonly kind: Kind;
  readonly schema: z.ZodType<Conf>;
  /** Validates a raw conf; throws `z.ZodError`. */
  configure(raw: unknown): EvaluatedRule<Source, Kind, Conf, Subject>;
}

/** Such a condition with its conf. */
export interface EvaluatedRule<Source extends string, Kind extends SubjectKind, Conf extends object, Subject>
  extends RuleTraits {
  readonly source: Source;
  readonly kind: Kind;
  readonly condition: EvaluatedCondition<Source, Kind, Conf, Subject>;
  /** Effective conf; serialises to what a file would say. */
  readonly conf: Conf;
  evaluate(evaluation: SubjectEvaluation<Subject>): Verdict;
  explain(evaluation: SubjectEvaluation<Subject>): Explanation;
}

export function defineEvaluatedCondition<
  Source extends string,
  Kind extends SubjectKind,
  Conf extends object,
  Subject,
>(
  definition: EvaluatedDefinition<Source, Kind, Conf, Subject>,
): EvaluatedCondition<Source, Kind, Conf, Subject> {
  const { source, kind, schema, evaluate, explain, traits: traitsOf, ...rest } = definition;
  const { sample, sampleSubject, ...traits } = rest;
  const condition: EvaluatedCondition<Source, Kind, Conf, Subject> = {
    ...traits,
    source,
    kind,
    schema,
    sample: { subject: sampleSubject, fields: { [kind]: sampleSubject, ...sample } },
    configure(raw) {
      const conf = schema.parse(raw);
      return {
        ...traitsOf(conf),
        source,
        kind,
        condition,
        conf,
        evaluate: evaluation => evaluate(evaluation, conf),
        explain: evaluation => explain(evaluation, conf),
      };
    },
  };
  return condition;
}

/** `type:id`, with the group unless that is the default one. */
export const subjectName = ({ name, group }: Subject): string =>
  group === 'default' ? name : `${name} in group ${group}`;

/** The name of a subject with its kind. */
export const subjectTitle = (kind: ComponentKind, subject: Subject): string =>
  `${kind === 'input' ? 'Source' : 'Destination'} ${subjectName(subject)}`;

/** Formats how long an incident was open, for its end. */
export const openDuration = (open: OpenFor | undefined): string => formatDuration(open?.ms ?? 0);

/** The reason, with a colon, where the component is not present now or the name was never seen; else empty. */
export function causeSuffix({ subject, components }: ComponentEvaluation): string {
  if (subject.component === undefined) return ': it was never seen';
  const { reason } = components.presence(subject.component);
  return reason === null ? '' : `: ${reason}`;
}

/** A point in time (epoch ms) to the second, in UTC: `2026-01-01T00:00:00Z`. */
export const formatTime = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
