import type * as z from 'zod';
import type { Description } from './condition.ts';

/** What somebody else found out and posted. */
interface Posted {
  /** What it is about; the incident's subject. */
  readonly key: string;
  readonly state: 'ALARM' | 'OK';
  /** Fields its sender adds to the event. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** How long the incident that it ends was open, in milliseconds; undefined when it begins one. */
  readonly openMs: number | undefined;
}

interface Facts {
  readonly id: string;
  readonly name: string;
  readonly type: 'message' | 'search' | 'monitor-alerts';
  readonly category: 'license' | 'search' | 'alerts';
  readonly description: string;
  /** Names of the fields it adds to an event, which nobody else may set. */
  readonly adds: readonly string[];
}

interface Definition<Conf extends object> extends Facts {
  readonly schema: z.ZodType<Conf>;
  /** Meant are the keys that are equal to it or begin with it and a slash; undefined for all keys. */
  topic(conf: Conf): string | undefined;
  /** Pure: the same event and conf give the same description. */
  describe(posted: Posted, conf: Conf): Description;
}

/** A kind of rule that is told by others over `POST /ingest/events`, its conf's type hidden behind `configure`. */
export interface PostedCondition extends Facts {
  readonly source: 'posted';
  readonly schema: z.ZodType<object>;
  /** Validates a raw conf; throws `z.ZodError`. */
  configure(raw: unknown): PostedRule;
}

/** A condition on posted events with its conf. */
export interface PostedRule {
  readonly source: 'posted';
  readonly condition: PostedCondition;
  /** Effective conf; serialises to what a file would say. */
  readonly conf: object;
  readonly topic: string | undefined;
  describe(posted: Posted): Description;
}

/** The part of a key that a topic is held against. */
export function topicOf(key: string): string {
  const end = key.indexOf('/');
  return end === -1 ? key : key.slice(0, end);
}

export function definePosted<Conf extends object>(definition: Definition<Conf>): PostedCondition {
  const { id, name, type, category, description, adds, schema } = definition;
  const condition: PostedCondition = {
    source: 'posted',
    id,
    name,
    type,
    category,
    description,
    adds,
    schema,
    configure(raw) {
      const conf = schema.parse(raw);
      return {
        source: 'posted',
        condition,
        conf,
        topic: definition.topic(conf),
        describe: posted => definition.describe(posted, conf),
      };
    },
  };
  return condition;
}
