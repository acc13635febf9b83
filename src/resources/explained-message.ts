import { grantsOf } from '../auth/actor.ts';
import { maskedAddress } from '../config/secrets/shown.ts';
import type { ShownMessage } from '../delivery/recorded-http.ts';
import type { HeadgateEvent } from '../events/event.ts';
import { withoutInternal } from '../events/system-fields.ts';
import type { PreviewedMessage, PreviewedRecipient } from '../notifications/explain.ts';
import { failuresOf } from '../notifications/incidents/target-health.ts';
import type { Notification } from '../notifications/notification.ts';
import type { IncidentRow } from '../storage/stores/incidents.ts';
import { findTargetType } from '../targets/index.ts';
import type { RouteStep, Target } from '../targets/target.ts';
import type { Call } from './context.ts';
import { type ExpectedHold, expectedHolds } from './held.ts';

/** Targets of one message that are listed. */
const MOST_LISTED = 100;
/** Messages that are rendered for one answer. */
const MOST_RENDERED = 100;

/** A call with what its messages have in common. */
export interface Asker {
  readonly call: Call;
  /** Epoch ms. */
  readonly at: number;
  /** The open incidents of failing targets, by id. */
  readonly failures: () => Promise<ReadonlyMap<string, IncidentRow>>;
  /** Messages that may still be rendered. */
  left: number;
}

export function asking(call: Call): Asker {
  let failures: ReturnType<Asker['failures']> | undefined;
  return {
    call,
    at: call.context.clock.now(),
    left: MOST_RENDERED,
    failures: () => {
      failures ??= failuresOf(call.context.stores.incidents);
      return failures;
    },
  };
}

export const RECIPIENT_ROLES = ['target', 'fallback', 'escalation'] as const;

/** A target of the next message. */
export interface RecipientReport {
  readonly target: string;
  readonly type: string | undefined;
  readonly role: (typeof RECIPIENT_ROLES)[number];
  /** The target whose fallback it is. */
  readonly insteadOf: string | undefined;
  readonly way: readonly RouteStep[];
  readonly isRecord: boolean;
  readonly holds: readonly ExpectedHold[];
  /** When it is sent at the earliest, in epoch ms; undefined where nobody can say. */
  readonly at: number | undefined;
  /** Why it may not arrive. */
  readonly problem: string | undefined;
  /** Undefined for who may not read targets, and for what is too much for one answer. */
  readonly message: ShownMessage | undefined;
  readonly warning: string | undefined;
}

export interface MessageReport {
  /** The subject that it is about; undefined for a sample. */
  readonly about: string | undefined;
  readonly event: HeadgateEvent;
  readonly recipients: readonly RecipientReport[];
  readonly deadEnds: readonly string[];
  readonly warnings: readonly string[];
}

/** A message as each of its targets would get it. */
export async function messageReport(
  asker: Asker,
  notification: Notification,
  previewed: PreviewedMessage,
  about: { readonly firesAt: number; readonly key: string | undefined },
): Promise<MessageReport> {
  const { call } = asker;
  const now = call.context.configuration();
  const targets = new Map(now.targets.map(target => [target.settings.id, target]));
  const failures = await asker.failures();
  const { event } = previewed;
  const recipients: RecipientReport[] = [];
  for (const one of expectedRecipients(previewed, targets).slice(0, MOST_LISTED)) {
    const target = targets.get(one.target);
    const after = one.role === 'escalation' ? (notification.escalation?.afterMs ?? 0) : 0;
    recipients.push({
      ...one,
      type: target?.settings.type,
      isRecord: target !== undefined && findTargetType(target.settings.type)?.isRecord === true,
      ...timesOf(call, one, about.firesAt + after),
      problem: problemOf(target, failures.get(one.target)),
      ...(await shownMessage(asker, target, event)),
    });
  }
  const { deadEnds, warnings } = previewed;
  return { about: about.key, event: withoutInternal(event), recipients, deadEnds, warnings };
}

type ExpectedRecipient = Pick<RecipientReport, 'target' | 'role' | 'insteadOf' | 'way'> &
  Pick<PreviewedRecipient, 'delivery'>;

/** Each with the chain of its fallbacks, which get what it does not take. */
function expectedRecipients(
  { recipients, escalation }: PreviewedMessage,
  targets: ReadonlyMap<string, Target>,
): readonly ExpectedRecipient[] {
  const seen = new Set(recipients.map(({ target }) => target));
  const withFallbacks = (one: PreviewedRecipient, role: 'target' | 'escalation'): ExpectedRecipient[] => {
    const all: ExpectedRecipient[] = [{ ...one, role, insteadOf: undefined }];
    for (let last = one.target; ; ) {
      const fallback = targets.get(last)?.fallback;
      if (fallback === undefined || seen.has(fallback)) return all;
      seen.add(fallback);
      const rest = { way: [], delivery: undefined };
      all.push({ target: fallback, role: 'fallback', insteadOf: last, ...rest });
      last = fallback;
    }
  };
  return [
    ...recipients.flatMap(one => withFallbacks(one, 'target')),
    ...escalation.filter(({ target }) => !seen.has(target)).flatMap(one => withFallbacks(one, 'escalation')),
  ];
}

/** A fallback gets it when the other has not taken it, and nobody knows when that is. */
function timesOf(
  { context }: Call,
  { delivery, role }: ExpectedRecipient,
  firesAt: number,
): Pick<RecipientReport, 'at' | 'holds'> {
  if (role === 'fallback') return { at: undefined, holds: [] };
  if (delivery === undefined) return { at: firesAt, holds: [] };
  const holds = expectedHolds(delivery, context, firesAt);
  const isOpenEnded = holds.some(({ until }) => until === undefined);
  return { at: isOpenEnded ? undefined : Math.max(firesAt, ...holds.map(({ until = 0 }) => until)), holds };
}

function problemOf(target: Target | undefined, failure: IncidentRow | undefined): string | undefined {
  if (target === undefined) return 'no such target is configured';
  return target.switchedOff ?? failure?.text;
}

/** Addresses in part for those who may not change targets, as in the targets themselves. */
async function shownMessage(
  asker: Asker,
  target: Target | undefined,
  event: HeadgateEvent,
): Promise<Pick<RecipientReport, 'message' | 'warning'>> {
  const { actor, context } = asker.call;
  const granted = grantsOf(actor);
  if (target === undefined || !granted.has('read:targets') || asker.left === 0)
    return { message: undefined, warning: undefined };
  asker.left -= 1;
  const { message, warning } = await context.previewMessage(target, event);
  if (message.kind !== 'request' || granted.has('update:targets')) return { message, warning };
  const { request } = message;
  return {
    message: { kind: 'request', request: { ...request, url: maskedAddress(request.url) ?? request.url } },
    warning,
  };
}
