import { findCondition } from '../conditions/index.ts';
import type { HeadgateEvent } from '../events/event.ts';
import type { ObservedClock } from '../lib/observed-clock.ts';
import { inSlices, type Slices, SliceTimer } from '../lib/slices.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';
import type { RouteStep } from '../targets/target.ts';
import type { ExternalEvent } from './external-events.ts';
import type { IncidentPreviews, PreviewedChange, StateChange } from './incidents/incidents.ts';
import type { ChangeSubject } from './incidents/transition.ts';
import type {
  ActiveRule,
  ExplainableSubject,
  ExplainedSubject,
  ExternalEffect,
} from './rules/rule-source.ts';

/** A target that a message would go to. */
export interface PreviewedRecipient {
  readonly target: string;
  /** The steps by which routers lead there; none where the notification names it. */
  readonly way: readonly RouteStep[];
  /** Its delivery as it would be written now, with what it would wait for; undefined for one that comes by an escalation. */
  readonly delivery: DeliveryRow | undefined;
}

/** A message as it would be made now. */
export interface PreviewedMessage {
  readonly event: HeadgateEvent;
  readonly recipients: readonly PreviewedRecipient[];
  /** Those that get it when nobody acknowledges it. */
  readonly escalation: readonly PreviewedRecipient[];
  /** Ids of routers none of whose routes takes it. */
  readonly deadEnds: readonly string[];
  /** Expressions that failed, with the setting in front. */
  readonly warnings: readonly string[];
}

/** What an active notification does at this moment. */
export interface ExplainedRule {
  /** How many subjects it has. */
  readonly total: number;
  /** Those with an open incident come first, then those that are about to have one. */
  readonly subjects: readonly ExplainedSubject[];
  /** Its next alarm: that of the first subject, as it is now or would be at its limit; without any, a sample. */
  readonly message: PreviewedMessage;
  /** Key of the subject that the message is about; undefined for a sample. */
  readonly about: string | undefined;
}

export interface ExplainRequest {
  readonly isWanted?: (subject: ChangeSubject) => boolean;
  /** How many subjects are explained at most. */
  readonly limit: number;
}

/** What an external event would do to an active notification. */
export interface ExplainedEffect {
  readonly notification: string;
  readonly effect: ExternalEffect;
  /** Undefined where nothing would be sent. */
  readonly message: PreviewedMessage | undefined;
}

export interface ExplainerOptions {
  readonly rules: ReadonlyMap<string, ActiveRule>;
  readonly incidents: IncidentPreviews;
  readonly observedClock: ObservedClock;
}

/** Asks the active rules what they make of things, by the same evaluation, routes and holds by which they act. */
export class Explainer {
  readonly #options: ExplainerOptions;

  constructor(options: ExplainerOptions) {
    this.#options = options;
  }

  /** Undefined for a notification that is not active. */
  async explain(
    id: string,
    { isWanted = () => true, limit }: ExplainRequest,
  ): Promise<ExplainedRule | undefined> {
    const { rules, observedClock } = this.#options;
    const rule = rules.get(id);
    if (rule === undefined) return undefined;
    const wanted = rule
      .explainable(observedClock.monotonic())
      .filter(({ subject }) => isWanted(subject))
      .toSorted((one, other) => rankOf(rule, other) - rankOf(rule, one));
    const subjects = await inSlices(this.#explainAll(wanted.slice(0, limit)));
    const sorted = subjects.toSorted((one, other) => urgencyOf(other) - urgencyOf(one));
    const [first] = sorted;
    const change = first === undefined ? sampleOf(rule) : alarmOf(rule, first);
    return {
      total: wanted.length,
      subjects: sorted,
      message: await this.#message(rule, change),
      about: first?.subject.key,
    };
  }

  /** What each notification that takes such events would do with one. */
  async explainEvent(event: ExternalEvent): Promise<readonly ExplainedEffect[]> {
    const now = this.#options.observedClock.monotonic();
    const found: ExplainedEffect[] = [];
    for (const rule of this.#options.rules.values()) {
      const effect = rule.effectOf?.(event, now);
      if (effect === undefined) continue;
      const { subject, status, description } = effect;
      const message = description && (await this.#message(rule, { subject, status, description }));
      found.push({ notification: rule.notification.id, effect, message });
    }
    return found;
  }

  *#explainAll(wanted: readonly ExplainableSubject[]): Slices<readonly ExplainedSubject[]> {
    const timer = new SliceTimer(this.#options.observedClock);
    const explained: ExplainedSubject[] = [];
    for (const one of wanted) {
      if (timer.isPauseDue()) yield* timer.pause();
      explained.push(one.explain());
    }
    return explained;
  }

  async #message(rule: ActiveRule, change: StateChange): Promise<PreviewedMessage> {
    const { incidents } = this.#options;
    const { event, deliveries, traced, warnings } = await incidents.preview(rule, change);
    const { escalation } = rule.notification;
    const escalated =
      escalation === undefined || change.status === 'OK'
        ? undefined
        : await incidents.preview(rule, { ...change, escalation });
    return {
      event,
      recipients: recipientsOf(traced, deliveries),
      escalation: escalated === undefined ? [] : recipientsOf(escalated.traced, []),
      deadEnds: [...new Set([...traced.deadEnds, ...(escalated?.traced.deadEnds ?? [])])],
      warnings: [...new Set([...warnings, ...(escalated?.warnings ?? [])])],
    };
  }
}

const rankOf = ({ incidents }: ActiveRule, { subject, isPending }: ExplainableSubject): number =>
  incidents.has(subject.key) ? 2 : Number(isPending);

/** An open incident is more urgent than one that is about to open, and that more than a condition that may hold. */
function urgencyOf({ incident, verdict }: ExplainedSubject): number {
  if (incident !== undefined) return 3;
  return ['ok', 'unknown', 'alarm'].indexOf(verdict.state);
}

const recipientsOf = (
  { reached }: PreviewedChange['traced'],
  deliveries: readonly DeliveryRow[],
): readonly PreviewedRecipient[] =>
  [...reached].map(([target, way]) => ({
    ...{ target, way },
    delivery: deliveries.find(row => row.target === target),
  }));

/** The alarm as it is now, or as it would be at the limit. */
function alarmOf(
  { notification: { repeatMs } }: ActiveRule,
  { subject, verdict, explanation, incident }: ExplainedSubject,
): StateChange {
  const description = verdict.state === 'alarm' ? verdict.describe() : explanation.alarm();
  const isReminder = incident !== undefined && repeatMs !== null;
  return { subject, status: 'ALARM', description, isReminder };
}

/** An alarm such as its condition may raise, of a subject that is nobody's. */
function sampleOf({ notification: { condition } }: ActiveRule): StateChange {
  const { subject: name = 'sample', fields = {} } = findCondition(condition)?.sample ?? {};
  return {
    subject: { key: name, name, component: undefined },
    status: 'ALARM',
    description: { text: `A sample of ${condition}: ${name}`, fields },
  };
}
