import type * as z from 'zod';
import type { OpenFor, Verdict } from './condition.ts';

interface Facts<Source extends string, Kind extends string> {
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
export interface Question<Subject> {
  readonly subject: Subject;
  readonly now: number;
  /** The open incident on this subject. */
  readonly open: OpenFor | undefined;
}

interface Definition<Source extends string, Kind extends string, Conf extends object, Subject>
  extends Facts<Source, Kind> {
  readonly schema: z.ZodType<Conf>;
  /** Pure: the same question and conf give the same verdict. */
  evaluate(question: Question<Subject>, conf: Conf): Verdict;
}

/** A kind of rule on what is no component, and is asked about one by one. */
export interface AskedCondition<Source extends string, Kind extends string, Conf extends object, Subject>
  extends Facts<Source, Kind> {
  readonly schema: z.ZodType<Conf>;
  /** Validates a raw conf; throws `z.ZodError`. */
  configure(raw: unknown): AskedRule<Source, Kind, Conf, Subject>;
}

/** Such a condition with its conf. */
export interface AskedRule<Source extends string, Kind extends string, Conf extends object, Subject> {
  readonly source: Source;
  readonly condition: AskedCondition<Source, Kind, Conf, Subject>;
  /** Effective conf; serialises to what a file would say. */
  readonly conf: Conf;
  evaluate(question: Question<Subject>): Verdict;
}

export function defineAsked<Source extends string, Kind extends string, Conf extends object, Subject>(
  definition: Definition<Source, Kind, Conf, Subject>,
): AskedCondition<Source, Kind, Conf, Subject> {
  const { source, schema, evaluate, ...facts } = definition;
  const condition: AskedCondition<Source, Kind, Conf, Subject> = {
    source,
    ...facts,
    schema,
    configure(raw) {
      const conf = schema.parse(raw);
      return { source, condition, conf, evaluate: question => evaluate(question, conf) };
    },
  };
  return condition;
}
