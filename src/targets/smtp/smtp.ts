import * as z from 'zod';
import { deliveryHintsOf } from '../../events/delivery-hints.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { onAbort } from '../../lib/on-abort.ts';
import type { Outcome } from '../outcome.ts';
import { type MailConf, mailConf } from '../recipients.ts';
import { defineTarget, type SendContext } from '../target.ts';
import { createTemplateReporter } from '../template-warnings.ts';
import { composeMail, type MailMessage } from './mail.ts';
import { type SmtpSettings, smtpSettings } from './settings.ts';
import {
  classifySmtpFailure,
  describeRefusals,
  type RecipientRefusal,
  refusalsIn,
  transfer,
} from './transfer.ts';

/** Shorter than an attempt may take, so that a slow server is distinguished from a target that hangs. */
const TIMEOUT_MS = 50_000;

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
  // Many servers accept more at once for a flood.
  concurrency: () => 2,
  async send(events, settings, context) {
    const conf = mailConfOf(events, settings.id);
    if (conf === undefined)
      return {
        kind: 'refused',
        reason: `no recipient is given; add '${settings.id}' to targetConfigs of the notification`,
        isAboutMessage: true,
      };
    const before = restIn(context);
    const { deliveryId, clock } = context;
    const report = createTemplateReporter(settings, context.warn ?? ignore, context.knownFields);
    const whole = composeMail(events, { from: settings.from, conf, deliveryId, now: clock.now(), report });
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
  const cancel = clock.after(TIMEOUT_MS, () => timeout.abort());
  if (signal.aborted) timeout.abort();
  try {
    const result = await transfer(message, settings, {
      dial,
      hostname: sender?.hostname ?? '',
      signal: timeout.signal,
    });
    return { isTaken: true, refusals: refusalsIn(result, settings) ?? [] };
  } catch (error) {
    const refusals = refusalsIn(error, settings);
    if (refusals !== undefined) return { isTaken: false, refusals };
    if (!timeout.signal.aborted) return { outcome: classifySmtpFailure(error, settings) };
    const reason = `${settings.host}:${settings.port}: no end within ${TIMEOUT_MS / 1000} s`;
    return { outcome: { kind: 'retry', reason } };
  } finally {
    cancel();
    removeListener();
  }
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
