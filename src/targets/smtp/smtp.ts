import * as z from 'zod';
import { deliveryHintsOf } from '../../events/delivery-hints.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { onAbort } from '../../lib/on-abort.ts';
import { isTriedAgain, type Outcome, type RefusedOutcome } from '../outcome.ts';
import { type MailConf, mailConf } from '../recipients.ts';
import { defineTarget, nothingToSend, type SendContext } from '../target.ts';
import { createTemplateReporter } from '../template-warnings.ts';
import { composeMail, type MailMessage } from './mail.ts';
import { type SmtpSettings, smtpSettings } from './settings.ts';
import { MailProgress, mailPatienceMs } from './steps.ts';
import {
  classifySmtpFailure,
  describeRefusals,
  failedOverName,
  isAboutName,
  type RecipientRefusal,
  refusalsIn,
  transfer,
} from './transfer.ts';

/** The remainder of a mail that some of its recipients have. */
interface Rest {
  /** Recipients that are tried again. */
  readonly deferred: readonly string[];
  /** Recipients that will not get it. */
  readonly refused: readonly RecipientRefusal[];
}

/**
 * Kept with the delivery: a recipient who has the mail must not get it again, and SMTP has no key that drops repeats.
 */
const restSchema = z.object({
  deferred: z.array(z.string()),
  refused: z.array(z.object({ address: z.string(), reply: z.string(), isPassing: z.boolean() })),
});

/** Sends events as mail to the recipients that the notification's targetConfigs give. */
export const smtp = defineTarget({
  type: 'smtp',
  description: 'Sends events by e-mail.',
  schema: smtpSettings,
  aliases: { username: 'smtpUsername', password: 'smtpPassword' },
  templates: [],
  references: [],
  needsRecipients: true,
  usesProcessIdentity: () => undefined,
  files: [],
  showsRepeats: () => true,
  // Many servers accept more at once for a flood.
  concurrency: () => 2,
  patienceMs: ({ timeouts }) => mailPatienceMs(timeouts),
  async preview(events, settings, context) {
    const mail = mailOf(events, settings, context);
    if ('kind' in mail) return nothingToSend(mail);
    const { from, envelope, subject, text, html } = mail;
    return { kind: 'mail', from: from.address, to: envelope.to, subject, text, html };
  },
  async send(events, settings, context) {
    const whole = mailOf(events, settings, context);
    if ('kind' in whole) return whole;
    const before = restIn(context);
    const envelope = { ...whole.envelope, to: [...(before?.deferred ?? whole.envelope.to)] };
    const end = await attempt({ ...whole, envelope }, settings, context);
    if ('outcome' in end) return end.outcome;
    const outcome = outcomeOf(end, before);
    const isPart = isTriedAgain(outcome) && (end.isTaken || before !== undefined);
    return isPart ? { ...outcome, rest: JSON.stringify(restAfter(end, before)) } : outcome;
  },
});

const ignore = (): void => {};

/** The mail of the events, or why there is none. */
function mailOf(
  events: readonly HeadgateEvent[],
  settings: SmtpSettings,
  context: Pick<SendContext, 'clock' | 'deliveryId' | 'knownFields' | 'showsSystemFields' | 'warn'>,
): MailMessage | RefusedOutcome {
  const conf = mailConfOf(events, settings.id);
  if (conf === undefined)
    return {
      kind: 'refused',
      reason: `no recipient is given; add '${settings.id}' to targetConfigs of the notification`,
      isAboutMessage: true,
    };
  const { deliveryId, clock } = context;
  const report = createTemplateReporter(settings, context.warn ?? ignore, context.knownFields);
  return composeMail(events, {
    ...{ from: settings.from, conf, deliveryId, now: clock.now(), report },
    showsSystemFields: context.showsSystemFields,
  });
}

const restIn = ({ rest }: SendContext): Rest | undefined =>
  rest === undefined ? undefined : restSchema.safeParse(JSON.parse(rest)).data;

/** The settings of the notification when the event was made. */
function mailConfOf([event]: readonly HeadgateEvent[], target: string): MailConf | undefined {
  const configs = event && deliveryHintsOf(event).__targetConfigs;
  if (typeof configs !== 'object' || configs === null || !Object.hasOwn(configs, target)) return undefined;
  return mailConf.safeParse(Reflect.get(configs, target)).data;
}

interface SmtpAnswer {
  /** Some recipients have the mail now. */
  readonly isTaken: boolean;
  readonly refusals: readonly RecipientRefusal[];
}

async function attempt(
  message: MailMessage,
  settings: SmtpSettings,
  { clock, dial, sender, signal }: SendContext,
): Promise<SmtpAnswer | { readonly outcome: Outcome }> {
  const timeout = new AbortController();
  const removeListener = onAbort(signal, () => timeout.abort());
  if (signal.aborted) timeout.abort();
  const { timeouts } = settings;
  const progress = new MailProgress({ clock, timeouts, giveUp: () => timeout.abort() });
  const options = { dial, hostname: sender?.hostname ?? '', signal: timeout.signal, progress };
  const send = (isNameless: boolean) => transfer(message, settings, { ...options, isNameless });
  try {
    const result = await send(namesRefused.has(settings)).catch(error => {
      if (timeout.signal.aborted || namesRefused.has(settings) || !isRefusedName(error, settings))
        throw error;
      namesRefused.add(settings);
      return send(true);
    });
    return { isTaken: true, refusals: refusalsIn(result, settings) ?? [] };
  } catch (error) {
    const refusals = refusalsIn(error, settings);
    if (refusals !== undefined) return { isTaken: false, refusals };
    if (!timeout.signal.aborted) return { outcome: classifySmtpFailure(error, settings, progress) };
    const reason = `${settings.host}:${settings.port}: ${progress.timedOut ?? 'the mail was given up'}`;
    return { outcome: { kind: progress.isWritten ? 'unknown' : 'retry', reason } };
  } finally {
    progress.end();
    removeListener();
  }
}

/** Settings whose server refused the name in the greeting: it gets the address from then on. */
const namesRefused = new WeakSet<SmtpSettings>();

/** Nobody has the mail then: the name is that of the sender, and the same for all recipients. */
function isRefusedName(error: unknown, settings: SmtpSettings): boolean {
  const refusals = refusalsIn(error, settings);
  if (refusals === undefined || refusals.length === 0) return failedOverName(error);
  return refusals.every(({ reply }) => isAboutName(reply));
}

const restAfter = ({ refusals }: SmtpAnswer, before: Rest | undefined): Rest => ({
  deferred: refusals.flatMap(({ address, isPassing }) => (isPassing ? [address] : [])),
  refused: [...(before?.refused ?? []), ...refusals.filter(one => !one.isPassing)],
});

/** One mailbox that is full or gone keeps no other from the mail, and none gets it twice. */
function outcomeOf(answer: SmtpAnswer, before: Rest | undefined): Outcome {
  const has = answer.isTaken || before !== undefined;
  const { deferred, refused } = restAfter(answer, before);
  const taken = has ? 'taken for the others, ' : '';
  if (deferred.length > 0) {
    const deferredRefusals = answer.refusals.filter(one => one.isPassing);
    const lost = refused.length > 0 ? `; refused for ${describeRefusals(refused)}` : '';
    return { kind: 'retry', reason: `${taken}put off for ${describeRefusals(deferredRefusals)}${lost}` };
  }
  if (refused.length === 0) return { kind: 'sent' };
  const reason = `refused for ${describeRefusals(refused)}`;
  return has
    ? { kind: 'sent', except: `${taken}${reason}` }
    : { kind: 'refused', reason, isAboutMessage: true };
}
