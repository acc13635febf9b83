import * as z from 'zod';
import type { HeadgateEvent } from '../events/event.ts';
import { steeringOf } from '../events/steering.ts';
import { onAbort } from '../lib/on-abort.ts';
import { type MailConf, mailConf } from './mail-conf.ts';
import { type MailMessage, mailMessage } from './mail-message.ts';
import type { Outcome } from './outcome.ts';
import { outcomeOfMailFailure, type Refusal, refusalsIn, refusalText } from './smtp-outcome.ts';
import { type SmtpSettings, smtpSettings } from './smtp-settings.ts';
import { transfer } from './smtp-transfer.ts';
import { defineTarget, type SendContext } from './target.ts';
import { notesOf } from './template-notes.ts';

/** Shorter than an attempt may take, so that a slow server is told from a target that hangs. */
const MOST_MS = 50_000;

/** What is left to do of a mail that some of its recipients have. */
interface Rest {
  /** Who is to be tried again. */
  readonly deferred: readonly string[];
  /** Who will not get it. */
  readonly refused: readonly Refusal[];
}

/** Kept with the delivery: whoever has a mail must not get it again, and SMTP has no key that drops repeats. */
const kept = z.object({
  deferred: z.array(z.string()),
  refused: z.array(z.object({ address: z.string(), reply: z.string(), isPassing: z.boolean() })),
});

/** Sends events as mail; whom to, the notification's targetConfigs say. */
export const smtp = defineTarget({
  type: 'smtp',
  description: 'Sends events by e-mail.',
  schema: smtpSettings,
  // Many servers take more at once for a flood.
  concurrency: () => 2,
  async send(events, settings, context) {
    const conf = confOf(events, settings.id);
    if (conf === undefined)
      return {
        kind: 'refused',
        reason: `nothing says to whom; add '${settings.id}' to targetConfigs of the notification`,
        isAboutMessage: true,
      };
    const before = restIn(context);
    const { deliveryId, clock } = context;
    const note = notesOf(settings, context.warn ?? ignore);
    const whole = mailMessage(events, { from: settings.from, conf, deliveryId, now: clock.now(), note });
    const envelope = { ...whole.envelope, to: [...(before?.deferred ?? whole.envelope.to)] };
    const end = await attempt({ ...whole, envelope }, settings, context);
    if ('outcome' in end) return end.outcome;
    const outcome = outcomeOf(end, before);
    const isPart = outcome.kind === 'retry' && (end.isTaken || before !== undefined);
    return isPart ? { ...outcome, rest: JSON.stringify(restAfter(end, before)) } : outcome;
  },
});

const ignore = (): void => {};

const restIn = ({ rest }: SendContext): Rest | undefined =>
  rest === undefined ? undefined : kept.safeParse(JSON.parse(rest)).data;

/** As the notification said when the event was made. */
function confOf([event]: readonly HeadgateEvent[], target: string): MailConf | undefined {
  const configs = event && steeringOf(event).__targetConfigs;
  if (typeof configs !== 'object' || configs === null || !Object.hasOwn(configs, target)) return undefined;
  return mailConf.safeParse(Reflect.get(configs, target)).data;
}

interface Answered {
  /** Some recipients have the mail now. */
  readonly isTaken: boolean;
  readonly refusals: readonly Refusal[];
}

async function attempt(
  message: MailMessage,
  settings: SmtpSettings,
  { clock, dial, signal }: SendContext,
): Promise<Answered | { readonly outcome: Outcome }> {
  const over = new AbortController();
  const leave = onAbort(signal, () => over.abort());
  const cancel = clock.after(MOST_MS, () => over.abort());
  if (signal.aborted) over.abort();
  try {
    const result = await transfer(message, settings, { dial, signal: over.signal });
    return { isTaken: true, refusals: refusalsIn(result, settings) ?? [] };
  } catch (error) {
    const refusals = refusalsIn(error, settings);
    if (refusals !== undefined) return { isTaken: false, refusals };
    if (!over.signal.aborted) return { outcome: outcomeOfMailFailure(error, settings) };
    const reason = `${settings.host}:${settings.port}: no end within ${MOST_MS / 1000} s`;
    return { outcome: { kind: 'retry', reason } };
  } finally {
    cancel();
    leave();
  }
}

const restAfter = ({ refusals }: Answered, before: Rest | undefined): Rest => ({
  deferred: refusals.flatMap(({ address, isPassing }) => (isPassing ? [address] : [])),
  refused: [...(before?.refused ?? []), ...refusals.filter(one => !one.isPassing)],
});

/** One mailbox that is full or gone keeps no other from the mail, and none gets it twice. */
function outcomeOf(answered: Answered, before: Rest | undefined): Outcome {
  const has = answered.isTaken || before !== undefined;
  const { deferred, refused } = restAfter(answered, before);
  const taken = has ? 'taken for the others, ' : '';
  if (deferred.length > 0) {
    const passing = answered.refusals.filter(one => one.isPassing);
    const lost = refused.length > 0 ? `; refused for ${refusalText(refused)}` : '';
    return { kind: 'retry', reason: `${taken}put off for ${refusalText(passing)}${lost}` };
  }
  if (refused.length === 0) return { kind: 'sent' };
  const reason = `refused for ${refusalText(refused)}`;
  return has
    ? { kind: 'sent', except: `${taken}${reason}` }
    : { kind: 'refused', reason, isAboutMessage: true };
}
