import { normalize } from 'node:path';
import * as z from 'zod';
import type { HeadgateEvent, Severity } from '../events/event.ts';
import { systemFieldPatterns } from '../events/system-fields.ts';
import type { ExpressionWarnings } from '../expressions/warnings.ts';
import type { Clock } from '../lib/clock.ts';
import type { Dial } from '../lib/dial.ts';
import type { HttpClient, HttpRequest } from '../lib/http/client.ts';
import { type Rate, rate } from '../lib/rate.ts';
import { identifier } from '../lib/schemas.ts';
import { revealJson, secretPieces, secretsIn } from '../lib/secret.ts';
import {
  type FileSetting,
  referencesAt,
  type SettingPath,
  settingsAt,
  type TargetReference,
  type TemplateSetting,
} from './declarations.ts';
import type { FailedRequest } from './http-target.ts';
import type { Outcome, RefusedOutcome } from './outcome.ts';

/** In whose name targets send. */
export interface Sender {
  /** The name that it greets with, of a machine or a domain. */
  readonly hostname: string;
  /** True when targets may use what identifies the process or its machine: keys, profiles, roles, variables. */
  readonly isProcess: boolean;
  /** How many folders below the log folder may hold logs; left out, any number. */
  readonly mostLogFolders?: number;
}

/** The tools of a target while it sends. */
export interface SendContext {
  /** Id of the delivery or of its batch: the same on all attempts, so that receivers drop repeats. */
  readonly deliveryId: string;
  /** The remainder of the attempt before; without it, everything is sent. */
  readonly rest?: string;
  readonly http: HttpClient;
  /** Connects targets that do not speak HTTP. */
  readonly dial: Dial;
  /** By default nobody: then nothing of the process is used. */
  readonly sender?: Sender | undefined;
  /** Reads a stored secret by its name, for settings that name one. */
  readonly secretOf: (name: string) => string | undefined;
  readonly clock: Clock;
  /** Aborts when the process stops; a target has a time limit of its own. */
  readonly signal: AbortSignal;
  /** The folder below which log files may be written. */
  readonly logFolder: string;
  /** False where nobody asked for system fields: messages for people leave them out. By default they show them. */
  readonly showsSystemFields?: boolean;
  /** Reports that an expression failed and that the message was sent without it. */
  readonly warn?: (reason: string) => void;
  /**
   * Fields that events may have: a template that names one warns of nothing where it is missing. By default there are
   * none.
   */
  readonly knownFields?: ReadonlySet<string>;
  /** Logs a request that did not arrive, where the settings want that. */
  readonly logFailedRequest?: (request: FailedRequest) => void;
}

/** Reports failures of a template, and knows the fields that events may have. */
export type TemplateWarnings = Required<Pick<SendContext, 'warn'>> & Pick<SendContext, 'knownFields'>;

/** What a target knows when it shows a message that nobody sends. */
export interface PreviewContext
  extends Pick<
    SendContext,
    'deliveryId' | 'clock' | 'sender' | 'warn' | 'knownFields' | 'showsSystemFields'
  > {
  /** The event with the names that never leave, as the bulletin shows it. */
  readonly whole: HeadgateEvent;
}

/** A message as it would leave, secrets and all. */
export type MessagePreview =
  | {
      readonly kind: 'request';
      readonly request: Pick<HttpRequest, 'url' | 'headers' | 'body'> & {
        readonly method?: HttpRequest['method'];
      };
      /** Texts that are derived from secrets. */
      readonly hidden?: readonly string[];
    }
  | {
      readonly kind: 'mail';
      readonly from: string;
      readonly to: readonly string[];
      readonly subject: string;
      readonly text: string;
      readonly html: string;
    }
  /** What is no request of ours: a line, a text for a screen, the input of a library. */
  | { readonly kind: 'text'; readonly title?: string | undefined; readonly text: string }
  /** Nothing would be sent. */
  | { readonly kind: 'nothing'; readonly reason: string };

/** Settings that every type has. */
export interface CommonSettings {
  readonly id: string;
  readonly type: string;
  readonly description?: string | undefined;
  /** Names or wildcards of the fields that are attached at send. */
  readonly systemFields: readonly string[];
  /** Id of the target that gets what this one does not take. */
  readonly fallback?: string | undefined;
  readonly pacing?: Rate | undefined;
  /** False when alarms that were given up stay so although the target is well again. */
  readonly redeliverOnRecovery?: boolean | undefined;
  /** `drop`: alarms beyond what may wait are skipped. */
  readonly onBackpressure?: 'queue' | 'block' | 'drop' | undefined;
}

/** Limits of one message. */
export interface Batching {
  readonly maxEvents: number;
  /** Size of the events as JSON, in bytes; one event may be larger. */
  readonly maxBytes: number;
  /** Longest wait of events that found all requests under way, once one has ended, in milliseconds. */
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
  readonly templates: readonly TemplateSetting[];
  /** Settings with ids of targets it sends to, beside `fallback`. */
  readonly references: readonly SettingPath[];
  /** Its reference gets events for ids that no target has; a configuration has one such target at most. */
  readonly isDefault?: true;
  /** True when each notification gives the recipients, by `emailRecipient` in `targetConfigs`. */
  readonly needsRecipients: boolean;
  /**
   * The setting by which it sends in the name of the process or its machine, with keys from the environment, a profile or
   * a role; undefined when it has all it needs in its settings. Such a target sends nothing in a workspace of many.
   */
  usesProcessIdentity(settings: Settings): ProcessUse | undefined;
  /** Settings that name files or folders of the machine. */
  readonly files: readonly FileSetting[];
  /** The limit on deliveries under way at once. */
  concurrency(settings: Settings): number;
  /** It keeps a record and alerts nobody: an incident that reached nothing else has reached nobody. */
  readonly isRecord?: true;
  /** How long an attempt may take by its own limits, in ms; by default less than a minute. */
  patienceMs?(settings: Settings): number;
  /** True when an alarm stays open at the receiver until its end is sent. By default, messages stand alone. */
  keepsOpen?(settings: Settings): boolean;
  /** Settings that decide where the alarms are open that it keeps open: ends mean nothing elsewhere. By default none. */
  readonly opensAt?: readonly (keyof Settings & string)[];
  /**
   * True when the receiver has no key by which it drops repeats, so that one that may have arrived is repeated twice at
   * most.
   */
  showsRepeats(settings: Settings): boolean;
  /** As `Target.resendMs`. */
  resendMs?(settings: Settings): number | undefined;
  /** Events with different keys do not travel in one request. By default all may. */
  readonly requestKey?: (event: HeadgateEvent, settings: Settings) => string;
  /** By default, each event travels alone. */
  batching?(settings: Settings): Batching;
  /** The receiver counts messages by it: targets with the same key share a rate limit. By default, each has its own. */
  rateLimitKey?(settings: Settings): string;
  /** True when each message is about one event and sent at once, so that no notification groups events for it. */
  neverGroups?(settings: Settings): boolean;
  /** The targets that get an event instead of this one. A target that has it sends nothing. */
  readonly routes?: (
    event: HeadgateEvent,
    settings: Settings,
    warn: (reason: string) => void,
  ) => readonly TakenRoute[];
  /** Its routes as settings were written, valid or not, for what can be said of them before any event. */
  readonly routeRules?: (settings: object) => readonly RouteRule[];
  /** Why an event is not to be sent, where the settings exclude it; its delivery settles as skipped with it. */
  readonly skipReason?: (event: HeadgateEvent, settings: Settings) => string | undefined;
  /** Sends the events as one message. Never throws for an answer, never waits to try again, never logs a secret. */
  send(events: readonly HeadgateEvent[], settings: Settings, context: SendContext): Promise<Outcome>;
  /** The message that `send` would make of the events. Sends nothing, and asks nobody. */
  preview(
    events: readonly HeadgateEvent[],
    settings: Settings,
    context: PreviewContext,
  ): MessagePreview | Promise<MessagePreview>;
  /** Names settings that a test does not exercise even where it arrives. */
  testNote?(settings: Settings): string | undefined;
  /** The bulletin's text for an event, where this type sets it. `warnings` report failures in it. */
  bulletinText?(event: HeadgateEvent, settings: Settings, warnings: TemplateWarnings): string;
  /** Heading of that text. */
  bulletinTitle?(settings: Settings): string;
  /** The severity of that text while an incident is open; undefined for the notification's. */
  bulletinSeverity?(settings: Settings): Severity | undefined;
}

/** Where a target leads an event that it does not send itself. */
export interface TakenRoute {
  /** Id of the target that gets it. */
  readonly output: string;
  /** The setting that says so, such as `routes[0]`. */
  readonly place: string;
  /** The expression that is true of the event, where one decides. */
  readonly filter?: string;
}

/** A route that takes the events for which its filter is true. */
export interface RouteRule {
  /** Own names of settings that lead to the filter. */
  readonly path: readonly PropertyKey[];
  /** An expression. */
  readonly filter: string;
  /** What it takes, no route below it does. */
  readonly isFinal: boolean;
}

/** A use of what is the operator's, by the setting that asks for it. */
export interface ProcessUse {
  /** Own names of settings. */
  readonly path: readonly PropertyKey[];
  /** Why it is refused where the operator is somebody else, and the remedy. */
  readonly message: string;
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
  /** Its routes in settings under their own names, valid or not; a type without routes has none. */
  routeRules(settings: object): readonly RouteRule[];
  /** Its reference gets events for ids that no target has. */
  readonly isDefault: boolean;
  /** True when a notification must give the recipients. */
  readonly needsRecipients: boolean;
  /** It keeps a record and alerts nobody. */
  readonly isRecord: boolean;
  /** Settings that decide where alarms are open; a change of one leaves them open there. */
  readonly opensAt: readonly string[];
  /** Validates raw settings; throws `z.ZodError`. */
  configure(raw: unknown): ConfiguredTarget;
}

/** A target with its uses of the process, which a workspace may be refused. */
export interface ConfiguredTarget extends Target {
  /** Its identity, and files of the machine that anybody could name. */
  readonly processUses: readonly ProcessUse[];
}

/** A target as it was until its destination changed. */
export interface EarlierSettings {
  readonly id: string;
  /** Epoch ms. */
  readonly replacedAt: number;
  readonly target: Target;
}

/** A target of the configuration, ready to send. */
export interface Target {
  /** Effective settings; secrets print as masks. */
  readonly settings: CommonSettings;
  /** Texts of the settings that are hidden although no schema says so: what references stand for. */
  readonly referredTexts?: readonly string[];
  /** Why it sends nothing although it is configured, with the remedy. */
  readonly switchedOff?: string;
  /** Files or folders that it writes below the log folder. */
  readonly logFolders?: readonly string[];
  readonly concurrency: number;
  /** How long an attempt may take by its own limits, in ms; by default less than a minute. */
  readonly patienceMs?: number | undefined;
  /** Id of its fallback target, which exists. */
  readonly fallback: string | undefined;
  /** Undefined when each event travels alone. */
  readonly batching: Batching | undefined;
  /** Whoever reads there sees each repeat of a message. By default the receiver drops them by the delivery's id. */
  readonly showsRepeats?: boolean;
  /** Targets with the same key share a rate limit; by default, this one has its own. Secret. */
  readonly rateLimitKey?: string | undefined;
  /** No notification groups events for it. */
  readonly neverGroups?: boolean;
  /** An alarm stays open at the receiver until its end is sent. */
  readonly keepsOpen?: boolean;
  /** The receiver forgets alarms: those that are open are sent again this often, in ms, with the time of that as `_time`. */
  readonly resendMs?: number | undefined;
  /** The place where its alarms are open; undefined where messages stand alone. Secret. */
  readonly destination?: string | undefined;
  /** Settings of before by which alarms may be open: their ends go there. By default there are none. */
  readonly earlier?: () => readonly EarlierSettings[];
  /** Events with different keys do not travel in one request; a target without it takes all together. */
  readonly requestKey?: (event: HeadgateEvent) => string;
  /** The targets that get an event instead of this one; a target without it sends. */
  readonly routes?: (event: HeadgateEvent, warn: (reason: string) => void) => readonly TakenRoute[];
  /** Why the delivery of an event settles as skipped; a target without it sends all. */
  readonly skipReason?: (event: HeadgateEvent) => string | undefined;
  /** Names settings that a test does not exercise even where it arrives. */
  readonly testNote?: string | undefined;
  send(events: readonly HeadgateEvent[], context: SendContext): Promise<Outcome>;
  /** The message that `send` would make of the events; nothing is sent. The stand-in of a backtest has none. */
  preview?(events: readonly HeadgateEvent[], context: PreviewContext): Promise<MessagePreview>;
  /** Undefined where the type sets none. `warnings` report failures in it. */
  bulletinText(event: HeadgateEvent, warnings: TemplateWarnings): string | undefined;
  /** Heading of that text, where the type sets one. */
  readonly bulletinTitle?: string;
  /** Severity of that text while an incident is open; by default the notification's. */
  readonly bulletinSeverity?: Severity | undefined;
}

/** Texts that nothing that is shown or logged of a target may hold, as far as they are long enough to be looked for. */
export function hiddenTextsOf(target: Target): readonly string[] {
  const known = hiddenTexts.get(target);
  if (known !== undefined) return known;
  const { settings, referredTexts = [] } = target;
  const found = [...secretsIn(settings).map(secret => secret.reveal()), ...referredTexts].flatMap(
    secretPieces,
  );
  hiddenTexts.set(target, found);
  return found;
}

/** They are asked for with each answer, and of a target they never change. */
const hiddenTexts = new WeakMap<Target, readonly string[]>();

export function defineTarget<Settings extends CommonSettings>(
  definition: TargetDefinition<Settings>,
): TargetType {
  const { routes, skipReason, requestKey, isDefault = false } = definition;
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
    routeRules: settings => definition.routeRules?.(settings) ?? [],
    isDefault,
    needsRecipients: definition.needsRecipients,
    isRecord: definition.isRecord === true,
    opensAt: definition.opensAt ?? [],
    configure(raw) {
      const settings = definition.schema.parse(raw);
      const hasSystemFields = typeof raw === 'object' && raw !== null && Object.hasOwn(raw, 'systemFields');
      const processUses = processUsesOf(definition, settings);
      const keepsOpen = definition.keepsOpen?.(settings) === true;
      return {
        settings,
        concurrency: definition.concurrency(settings),
        patienceMs: definition.patienceMs?.(settings),
        fallback: settings.fallback,
        batching: definition.batching?.(settings),
        showsRepeats: definition.showsRepeats(settings),
        resendMs: definition.resendMs?.(settings),
        rateLimitKey: definition.rateLimitKey?.(settings),
        neverGroups: definition.neverGroups?.(settings) === true,
        ...(keepsOpen && { keepsOpen }),
        destination: keepsOpen
          ? revealJson((definition.opensAt ?? []).map(name => settings[name] ?? null))
          : undefined,
        ...(requestKey && { requestKey: event => requestKey(event, settings) }),
        ...(routes && { routes: (event, warn) => routes(event, settings, warn) }),
        ...(skipReason && { skipReason: event => skipReason(event, settings) }),
        ...(definition.testNote && { testNote: definition.testNote(settings) }),
        send: async (events, context) =>
          refusedUse(processUses, context) ??
          definition.send(events, settings, { ...context, showsSystemFields: hasSystemFields }),
        preview: async (events, context) => {
          const refused = refusedUse(processUses, context);
          if (refused !== undefined) return nothingToSend(refused);
          return definition.preview(events, settings, { ...context, showsSystemFields: hasSystemFields });
        },
        ...(definition.bulletinTitle && { bulletinTitle: definition.bulletinTitle(settings) }),
        ...(definition.bulletinSeverity && { bulletinSeverity: definition.bulletinSeverity(settings) }),
        bulletinText: (event, warnings) => definition.bulletinText?.(event, settings, warnings),
        processUses,
        logFolders: logFoldersOf(definition, settings),
      };
    },
  };
}

/** References that any target may have, also one whose type is unknown. */
export const fallbackReferences = (settings: object): readonly TargetReference[] =>
  referencesAt(settings, [['fallback']], false);

const processUsesOf = <Settings extends CommonSettings>(
  type: TargetDefinition<Settings>,
  settings: Settings,
): ProcessUse[] => [
  ...[type.usesProcessIdentity(settings)].flatMap(use => use ?? []),
  ...type.files
    .filter(({ isConfined }) => isConfined !== true)
    .flatMap(({ path }) => settingsAt(settings, path))
    .filter(({ value }) => value !== undefined && value !== '')
    .map(({ path }) => ({ path, message: 'names a file, and there are no files of yours here' })),
];

const logFoldersOf = <Settings extends CommonSettings>(
  { files }: TargetDefinition<Settings>,
  settings: Settings,
): string[] =>
  files
    .filter(({ isConfined }) => isConfined === true)
    .flatMap(({ path }) => settingsAt(settings, path))
    .flatMap(({ value }) => (typeof value === 'string' ? [normalize(value)] : []));

/** What a target refuses before it sends. */
export const nothingToSend = ({ reason }: Pick<RefusedOutcome, 'reason'>): MessagePreview => ({
  kind: 'nothing',
  reason,
});

/** Nothing is sent in the name of a process that is not the sender, wherever the settings came from. */
function refusedUse(
  [use]: readonly ProcessUse[],
  { sender }: Pick<SendContext, 'sender'>,
): RefusedOutcome | undefined {
  if (use === undefined || sender?.isProcess === true) return undefined;
  return { kind: 'refused', reason: `${use.path.join('.')}: ${use.message}` };
}

/**
 * Settings of every type, to be spread into its schema. Marks on fields, here and in each type: `aliases` other names
 * it may be written by; `destination` a setting that decides where secrets are sent, `protection` one that decides how
 * they are protected on the way or whom they act for: when one of them changes, secrets must be sent anew; `secret` a
 * setting that no read shows; `secretName` the name of a stored secret; `template` a text whose `$` is its own; `places` one that
 * may be a reference as a whole, and has `${…}` places otherwise.
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
  redeliverOnRecovery: z
    .boolean()
    .default(true)
    .describe(
      'Whether alarms of incidents that are still open go again when the target is well again after it refused them or used up their schedule.',
    ),
} as const;

/** Replaces each router by where it leads, to the last one; no id stands twice. Filters that fail are warned of. */
export function resolveRoutes(
  ids: readonly string[],
  event: HeadgateEvent,
  targets: ReadonlyMap<string, Target>,
  warnings: ExpressionWarnings,
): readonly string[] {
  return [...traceRoutes(ids, event, targets, warnings).reached.keys()];
}

/** A step on the way to a target. */
export interface RouteStep extends Omit<TakenRoute, 'output'> {
  readonly router: string;
}

/** Where routes lead an event. */
export interface TracedRoutes {
  /** By id of a target that gets it, the steps of the first way there; none for one that the notification names. */
  readonly reached: ReadonlyMap<string, readonly RouteStep[]>;
  /** Ids of the routers none of whose routes takes it. */
  readonly deadEnds: readonly string[];
}

/** The same as `resolveRoutes`, with the ways. */
export function traceRoutes(
  ids: readonly string[],
  event: HeadgateEvent,
  targets: ReadonlyMap<string, Target>,
  warnings: ExpressionWarnings,
): TracedRoutes {
  const reached = new Map<string, readonly RouteStep[]>();
  const deadEnds: string[] = [];
  /** A configuration has no cycles, but removed targets may form one with those of today. */
  const visited = new Set<string>();
  function follow(id: string, way: readonly RouteStep[]): void {
    const target = targets.get(id);
    if (target?.routes === undefined) {
      if (target !== undefined && !reached.has(id)) reached.set(id, way);
      return;
    }
    if (visited.has(id)) return;
    visited.add(id);
    const warn = (reason: string): void => warnings.warn({ target: id }, reason);
    const taken = target.routes(event, warn);
    if (taken.length === 0) deadEnds.push(id);
    for (const { output, ...step } of taken) follow(output, [...way, { router: id, ...step }]);
  }
  for (const id of ids) follow(id, []);
  return { reached, deadEnds };
}
