import type * as z from 'zod';
import type { HeadgateEvent } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import type { Dial } from '../lib/dial.ts';
import type { HttpClient } from '../lib/http.ts';
import type { Rate } from '../lib/rate.ts';
import type { FailedRequest } from './failed-request.ts';
import type { Outcome } from './outcome.ts';

/** What a target may use while it sends. */
export interface SendContext {
  /** Of the delivery, or of those that travel together: stable over all attempts, so that receivers drop repeats. */
  readonly deliveryId: string;
  readonly http: HttpClient;
  /** For what does not speak HTTP. */
  readonly dial: Dial;
  /** A stored secret by its name, for settings that name one. */
  readonly secretOf: (name: string) => string | undefined;
  readonly clock: Clock;
  /** Aborts when the process stops; a target has a time limit of its own. */
  readonly signal: AbortSignal;
  /** The folder below which log files may be written. */
  readonly logFolder: string;
  /** Told when an expression failed and what is sent without it was sent. Left out, nobody is. */
  readonly warn?: (reason: string) => void;
  /** Told what did not arrive, where the settings want it logged. Left out, nobody is. */
  readonly failed?: (request: FailedRequest) => void;
}

/** What every type's settings hold. */
export interface CommonSettings {
  readonly id: string;
  readonly type: string;
  readonly description?: string | undefined;
  /** Names or wildcards of the fields that are attached at send. */
  readonly systemFields: readonly string[];
  /** Id of the target that gets what this one does not take. */
  readonly fallback?: string | undefined;
  readonly pacing?: Rate | undefined;
}

/** How much may travel in one message. */
export interface Batching {
  readonly maxEvents: number;
  /** Of the events as JSON, in bytes; one event may be larger. */
  readonly maxBytes: number;
  /** Longest wait for company of what found all requests under way, once one of them has ended; in milliseconds. */
  readonly gatherMs: number;
}

interface Definition<Settings extends CommonSettings> {
  /** The value of `type` in the file. */
  readonly type: string;
  readonly description: string;
  /** A strict object; its defaults, limits and secret marks are the product's. */
  readonly schema: z.ZodType<Settings>;
  /** How many deliveries may be under way at once. */
  concurrency(settings: Settings): number;
  /** Whether an alarm stays open at the receiver until its end is sent. */
  readonly keepsOpen?: true;
  /** Left out, each event travels alone. */
  batching?(settings: Settings): Batching;
  /** Whether its messages say one thing each, at once, so that no notification groups what goes to it. */
  neverGroups?(settings: Settings): boolean;
  /** Ids of the targets that get an event in this one's place. One that has it sends nothing. */
  routes?(event: HeadgateEvent, settings: Settings): readonly string[];
  /** Sends the events as one message. Never throws for an answer, never waits to try again, never logs a secret. */
  send(events: readonly HeadgateEvent[], settings: Settings, context: SendContext): Promise<Outcome>;
  /** The bulletin's text for an event, where this type sets it. */
  bulletinText?(event: HeadgateEvent, settings: Settings): string;
  /** The heading of that text. */
  bulletinTitle?(settings: Settings): string;
}

/** A kind of target, its settings' type hidden behind `configure`. */
export interface TargetType {
  readonly type: string;
  readonly description: string;
  readonly schema: z.ZodType<CommonSettings>;
  /** Validates raw settings; throws `z.ZodError`. */
  configure(raw: unknown): Target;
}

/** A target of the configuration, ready to send. */
export interface Target {
  /** Effective settings; secrets print as masks. */
  readonly settings: CommonSettings;
  readonly concurrency: number;
  /** Id of the target that stands in for it, which exists. */
  readonly fallback: string | undefined;
  /** Undefined when each event travels alone. */
  readonly batching: Batching | undefined;
  /** Whether no notification groups what goes to it; left out, it may. */
  readonly neverGroups?: boolean;
  /** Whether an alarm stays open at the receiver until its end is sent. */
  readonly keepsOpen?: boolean;
  /** Ids of the targets that get an event in this one's place; left out for one that sends. */
  readonly routes?: (event: HeadgateEvent) => readonly string[];
  send(events: readonly HeadgateEvent[], context: SendContext): Promise<Outcome>;
  bulletinText(event: HeadgateEvent): string | undefined;
  /** Left out where the type sets none. */
  readonly bulletinTitle?: string;
}

export function defineTarget<Settings extends CommonSettings>(definition: Definition<Settings>): TargetType {
  const { routes } = definition;
  return {
    type: definition.type,
    description: definition.description,
    schema: definition.schema,
    configure(raw) {
      const settings = definition.schema.parse(raw);
      return {
        settings,
        concurrency: definition.concurrency(settings),
        fallback: settings.fallback,
        batching: definition.batching?.(settings),
        neverGroups: definition.neverGroups?.(settings) === true,
        ...(definition.keepsOpen && { keepsOpen: true }),
        ...(routes && { routes: event => routes(event, settings) }),
        send: (events, context) => definition.send(events, settings, context),
        ...(definition.bulletinTitle && { bulletinTitle: definition.bulletinTitle(settings) }),
        bulletinText: event => definition.bulletinText?.(event, settings),
      };
    },
  };
}
