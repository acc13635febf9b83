import * as z from 'zod';
import type { HeadgateEvent, Severity } from '../events/event.ts';
import { systemFieldPatterns } from '../events/system-fields.ts';
import type { Clock } from '../lib/clock.ts';
import type { Dial } from '../lib/dial.ts';
import type { HttpClient } from '../lib/http/client.ts';
import { type Rate, rate } from '../lib/rate.ts';
import { identifier } from '../lib/schemas.ts';
import {
  type FileSetting,
  referencesAt,
  type SettingPath,
  settingsAt,
  type TargetReference,
  type TemplateSetting,
} from './declarations.ts';
import type { FailedRequest } from './http-target.ts';
import type { Outcome } from './outcome.ts';

/** What a target may use while it sends. */
export interface SendContext {
  /** Of the delivery, or of those that travel together: stable over all attempts, so that receivers drop repeats. */
  readonly deliveryId: string;
  /** What the attempt before left to do, as its outcome said; left out, all of it. */
  readonly rest?: string;
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
  /** Fields that events may have: a template that names one warns of nothing where it is missing. Left out, there are none. */
  readonly knownFields?: ReadonlySet<string>;
  /** Told what did not arrive, where the settings want it logged. Left out, nobody is. */
  readonly logFailedRequest?: (request: FailedRequest) => void;
}

/** Where a template reports what failed, and the fields that events may have. */
export type TemplateWarnings = Required<Pick<SendContext, 'warn'>> & Pick<SendContext, 'knownFields'>;

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
  /** `drop`: alarms beyond what may wait are skipped. */
  readonly onBackpressure?: 'queue' | 'block' | 'drop' | undefined;
}

/** How much may travel in one message. */
export interface Batching {
  readonly maxEvents: number;
  /** Of the events as JSON, in bytes; one event may be larger. */
  readonly maxBytes: number;
  /** Longest wait for company of what found all requests under way, once one of them has ended; in milliseconds. */
  readonly lingerMs: number;
}

interface TargetDefinition<Settings extends CommonSettings> {
  /** The value of `type` in the file. */
  readonly type: string;
  readonly description: string;
  /** A strict object; its defaults, limits and secret marks are the product's. */
  readonly schema: z.ZodType<Settings>;
  /** Other names of settings under which answers show them as well, for clients that read those. */
  readonly aliases?: Readonly<Record<string, keyof Settings & string>>;
  /** Every setting with the mark `template`. */
  readonly templates: readonly TemplateSetting[];
  /** Settings with ids of targets it sends to, beside `fallback`. */
  readonly references: readonly SettingPath[];
  /** Its reference gets what goes to ids that no target has; a configuration has one such target at most. */
  readonly isDefault?: true;
  /** Each notification says who gets its messages, by `emailRecipient` in `targetConfigs`. */
  readonly needsRecipients: boolean;
  /** It sends in the name of the process or its machine: by keys from the environment, a profile, a role. */
  usesProcessIdentity(settings: Settings): boolean;
  /** Settings that name files or folders of the machine. */
  readonly files: readonly FileSetting[];
  /** How many deliveries may be under way at once. */
  concurrency(settings: Settings): number;
  /** Whether an alarm stays open at the receiver until its end is sent. */
  readonly keepsOpen?: true;
  /** Where what it keeps open stands: after a change an end is about nothing known there. Left out, its messages stand alone. */
  destination?(settings: Settings): string;
  /** Left out, each event travels alone. */
  batching?(settings: Settings): Batching;
  /** What a receiver counts messages by: targets with the same keep their pace together. Left out, each keeps its own. */
  rateLimitKey?(settings: Settings): string;
  /** Whether its messages say one thing each, at once, so that no notification groups what goes to it. */
  neverGroups?(settings: Settings): boolean;
  /** Ids of the targets that get an event in this one's place. One that has it sends nothing. */
  routes?(event: HeadgateEvent, settings: Settings): readonly string[];
  /** Why an event is not to be sent, where the settings say so; its delivery settles as skipped with it. */
  skipReason?(event: HeadgateEvent, settings: Settings): string | undefined;
  /** Sends the events as one message. Never throws for an answer, never waits to try again, never logs a secret. */
  send(events: readonly HeadgateEvent[], settings: Settings, context: SendContext): Promise<Outcome>;
  /** What a test that arrives cannot show of the settings; undefined for nothing. */
  testNote?(settings: Settings): string | undefined;
  /** The bulletin's text for an event, where this type sets it. `warnings` get what of it failed. */
  bulletinText?(event: HeadgateEvent, settings: Settings, warnings: TemplateWarnings): string;
  /** The heading of that text. */
  bulletinTitle?(settings: Settings): string;
  /** The severity of that text while an incident is open; undefined for the notification's. */
  bulletinSeverity?(settings: Settings): Severity | undefined;
}

/** A kind of target, its settings' type hidden behind `configure`. */
export interface TargetType {
  readonly type: string;
  readonly description: string;
  readonly schema: z.ZodType<CommonSettings>;
  /** Other names of settings under which answers show them as well. */
  readonly aliases: Readonly<Record<string, string>> | undefined;
  readonly templates: readonly TemplateSetting[];
  /** Ids of targets it sends to, the fallback first, in settings under their own names, valid or not. */
  references(settings: object): readonly TargetReference[];
  /** Its reference gets what goes to ids that no target has. */
  readonly isDefault: boolean;
  /** A notification must say who gets its messages. */
  readonly needsRecipients: boolean;
  /** Validates raw settings; throws `z.ZodError`. */
  configure(raw: unknown): ConfiguredTarget;
}

/** A target with what it uses of the process, which a workspace may be refused. */
export interface ConfiguredTarget extends Target {
  /** It sends in the name of the process or its machine. */
  readonly usesProcessIdentity: boolean;
  /** Settings that are given and name files or folders of the machine. */
  readonly files: readonly UsedFile[];
}

interface UsedFile extends Pick<FileSetting, 'isConfined'> {
  readonly path: readonly PropertyKey[];
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
  /** Targets with the same keep their pace together; left out, it keeps its own. Secret. */
  readonly rateLimitKey?: string | undefined;
  /** Whether no notification groups what goes to it; left out, it may. */
  readonly neverGroups?: boolean;
  /** Whether an alarm stays open at the receiver until its end is sent. */
  readonly keepsOpen?: boolean;
  /** Where what it keeps open stands; left out where an end says all by itself. Secret. */
  readonly destination?: string | undefined;
  /** Ids of the targets that get an event in this one's place; left out for one that sends. */
  readonly routes?: (event: HeadgateEvent) => readonly string[];
  /** Why the delivery of an event settles as skipped; left out for one that sends all. */
  readonly skipReason?: (event: HeadgateEvent) => string | undefined;
  /** What a test that arrives cannot show of the settings; left out for nothing. */
  readonly testNote?: string | undefined;
  send(events: readonly HeadgateEvent[], context: SendContext): Promise<Outcome>;
  /** Undefined where the type sets none. `warnings` get what of it failed. */
  bulletinText(event: HeadgateEvent, warnings: TemplateWarnings): string | undefined;
  /** Left out where the type sets none. */
  readonly bulletinTitle?: string;
  /** Of the text while an incident is open; left out where the notification's counts. */
  readonly bulletinSeverity?: Severity | undefined;
}

export function defineTarget<Settings extends CommonSettings>(
  definition: TargetDefinition<Settings>,
): TargetType {
  const { routes, skipReason, isDefault = false } = definition;
  return {
    type: definition.type,
    description: definition.description,
    schema: definition.schema,
    aliases: definition.aliases,
    templates: definition.templates,
    references: settings => [
      ...fallbackReferences(settings),
      ...referencesAt(settings, definition.references, isDefault),
    ],
    isDefault,
    needsRecipients: definition.needsRecipients,
    configure(raw) {
      const settings = definition.schema.parse(raw);
      return {
        settings,
        concurrency: definition.concurrency(settings),
        fallback: settings.fallback,
        batching: definition.batching?.(settings),
        rateLimitKey: definition.rateLimitKey?.(settings),
        neverGroups: definition.neverGroups?.(settings) === true,
        ...(definition.keepsOpen && { keepsOpen: true }),
        destination: definition.destination?.(settings),
        ...(routes && { routes: event => routes(event, settings) }),
        ...(skipReason && { skipReason: event => skipReason(event, settings) }),
        ...(definition.testNote && { testNote: definition.testNote(settings) }),
        send: (events, context) => definition.send(events, settings, context),
        ...(definition.bulletinTitle && { bulletinTitle: definition.bulletinTitle(settings) }),
        ...(definition.bulletinSeverity && { bulletinSeverity: definition.bulletinSeverity(settings) }),
        bulletinText: (event, warnings) => definition.bulletinText?.(event, settings, warnings),
        usesProcessIdentity: definition.usesProcessIdentity(settings),
        files: usedFiles(settings, definition.files),
      };
    },
  };
}

/** What any target refers to, also one whose type is unknown. */
export const fallbackReferences = (settings: object): readonly TargetReference[] =>
  referencesAt(settings, [['fallback']], false);

const usedFiles = (settings: object, files: readonly FileSetting[]): UsedFile[] =>
  files.flatMap(({ path, ...file }) =>
    settingsAt(settings, path)
      .filter(({ value }) => value !== undefined && value !== '')
      .map(found => ({ ...file, path: found.path })),
  );

/**
 * Settings of every type, to be spread into its schema. Marks on fields, here and in each type: `aliases` other names it
 * may be written by; `destination` what decides where secrets are sent; `secret` what no read shows; `template` a text
 * whose `$` is its own.
 */
export const commonSettings = {
  id: identifier.describe('Unique identifier of the target.'),
  description: z.string().max(4096).optional().describe('What the target is for.'),
  systemFields: systemFieldPatterns
    .default(['cribl_host'])
    .describe('Names or wildcards of the fields that are attached to events at send.'),
  onBackpressure: z
    .enum(['queue', 'block', 'drop'])
    .optional()
    .describe(
      'What happens to alarms that come while `delivery.mostWaiting` wait for it: queue and block keep them, as without this, drop skips them.',
    ),
  fallback: identifier
    .optional()
    .describe('Id of the target that gets the alarms that this one does not take, and their ends.'),
  pacing: rate.optional().describe('Send no faster than this: N/second, minute, hour or day.'),
} as const;

/** A rule between settings also holds when one of them is wrong, so that all errors show at once. */
export const EVEN_WHEN_INVALID = {
  when: ({ value }: { readonly value: unknown }): boolean => typeof value === 'object' && value !== null,
};

/** Ids with each target that routes exchanged for where it leads, as far as that goes; nobody is named twice. */
export function resolveRoutes(
  ids: readonly string[],
  event: HeadgateEvent,
  targets: ReadonlyMap<string, Target>,
): readonly string[] {
  const reached = new Set<string>();
  /** Circles are refused in a configuration; former targets may make one with those of today. */
  const visited = new Set<string>();
  function follow(id: string): void {
    const target = targets.get(id);
    if (target?.routes === undefined) {
      if (target !== undefined) reached.add(id);
      return;
    }
    if (visited.has(id)) return;
    visited.add(id);
    for (const next of target.routes(event)) follow(next);
  }
  for (const id of ids) follow(id);
  return [...reached];
}
