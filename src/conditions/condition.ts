import type * as z from 'zod';
import type { Rendered } from '../expressions/template.ts';
import type { Duration } from '../lib/duration.ts';
import type { Component, ComponentKind, Components } from '../pipelines/component.ts';

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
      readonly calmMs?: number;
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

interface Gaps extends Omit<Rendered, 'text'> {
  /** Name of the setting. */
  readonly setting: string;
}

export interface Evaluation {
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

type Category = 'sources' | 'destinations' | 'components';

interface Definition<Conf extends ComponentConf> {
  readonly id: string;
  readonly name: string;
  readonly category: Category;
  readonly description: string;
  readonly kind: ComponentKinds;
  readonly schema: z.ZodType<Conf>;
  /** As `ComponentRule` has it; left out where nothing is an alarm because the pipeline cannot be read. */
  outageMs?(conf: Conf): number;
  /** Pure: the same evaluation and conf give the same verdict. */
  evaluate(evaluation: Evaluation, conf: Conf): Verdict;
}

/** A kind of rule on components, its conf's type hidden behind `configure`. */
export interface ComponentCondition {
  readonly source: 'component';
  readonly id: string;
  readonly name: string;
  readonly type: 'metric';
  readonly category: Category;
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
  readonly outageMs: number | undefined;
  readonly kind: ComponentKinds;
  evaluate(evaluation: Evaluation): Verdict;
}

export function defineCondition<Conf extends ComponentConf>(
  definition: Definition<Conf>,
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
        outageMs: definition.outageMs?.(conf),
        kind: conf.kind ?? definition.kind,
        evaluate: evaluation => definition.evaluate(evaluation, conf),
      };
    },
  };
  return condition;
}
