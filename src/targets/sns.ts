import type { PublishCommandInput } from '@aws-sdk/client-sns';
import * as z from 'zod';
import type { HeadgateEvent } from '../events/event.ts';
import { steeringOf } from '../events/steering.ts';
import type { HttpClient } from '../lib/http.ts';
import { onAbort } from '../lib/on-abort.ts';
import type { Outcome } from './outcome.ts';
import type { Publisher } from './sns-client.ts';
import { ownKeys } from './sns-keys.ts';
import { shortText, snsMessage } from './sns-message.ts';
import { NameMissing, nameFor, topicFor } from './sns-names.ts';
import { isExpired, outcomeOfSnsFailure } from './sns-outcome.ts';
import { fits, numbersOf, type SnsSettings, snsSettings } from './sns-settings.ts';
import { defineTarget, type SendContext } from './target.ts';

/** Shorter than an attempt may take, so that a slow service is told from a target that hangs. */
const MOST_MS = 50_000;

/** Publishes events to a topic of Amazon SNS, or to phones as short messages. */
export const sns = defineTarget({
  type: 'sns',
  description: 'Publishes events to an Amazon SNS topic or to phones.',
  neverGroups: settings => settings.topicType === 'fifo',
  schema: snsSettings,
  testNote: ({ allowList, destinationType }) =>
    destinationType === 'topic' && allowList.length > 0
      ? 'allowList is held against phone numbers that get messages directly; SNS sends to every subscription of a topic, so look there for phones and e-mail addresses outside of it'
      : undefined,
  concurrency: () => 4,
  async send(events, settings, context) {
    const [event] = events;
    if (event === undefined) return { kind: 'sent' };
    const over = new AbortController();
    const leave = onAbort(context.signal, () => over.abort());
    const cancel = context.clock.after(MOST_MS, () => over.abort());
    const publish = (input: PublishCommandInput): Promise<Outcome> =>
      publishOnce(input, settings, context, over.signal);
    const way = { publish, deliveryId: context.deliveryId, rest: context.rest };
    try {
      return settings.destinationType === 'topic'
        ? await toTopic(events, event, settings, way)
        : await toPhones(event, settings, way);
    } finally {
      cancel();
      leave();
    }
  },
});

interface Way {
  publish(input: PublishCommandInput): Promise<Outcome>;
  readonly deliveryId: string;
  /** What attempts before left to do. */
  readonly rest: string | undefined;
}

async function toTopic(
  events: readonly HeadgateEvent[],
  event: HeadgateEvent,
  settings: SnsSettings,
  { publish, deliveryId }: Way,
): Promise<Outcome> {
  const names = namesFor(event, settings);
  if ('kind' in names) return names;
  const { topic, group } = names;
  const { attributes, subject, text } = snsMessage(events);
  return publish({
    TopicArn: topic,
    Message: text,
    MessageAttributes: { ...attributes },
    ...(subject !== '' && { Subject: subject }),
    ...(group !== undefined && {
      MessageGroupId: idText(group),
      // The same on every attempt, and another for the end of what this one begins: SNS drops what has the same one.
      MessageDeduplicationId: idText(deliveryId),
    }),
  });
}

interface Names {
  readonly topic: string;
  /** Undefined for a topic without groups. */
  readonly group: string | undefined;
}

/** Where an event goes, or why that cannot be told: it says nothing of the target. */
function namesFor(event: HeadgateEvent, { topicArn, messageGroupId }: SnsSettings): Names | Outcome {
  const refused = (reason: string): Outcome => ({ kind: 'refused', reason, isAboutMessage: true });
  const { __topicArn: wanted } = steeringOf(event);
  try {
    const topic = topicFor(topicArn, event, wanted);
    if (!topic.endsWith('.fifo')) return { topic, group: undefined };
    const hasGroup = messageGroupId.text !== '';
    const group = hasGroup ? nameFor('messageGroupId', messageGroupId, event) : event.cribl_notification;
    return { topic, group };
  } catch (error) {
    if (error instanceof NameMissing) return refused(error.message);
    throw error;
  }
}

/** Letters, digits and marks, at most 128. */
const idText = (text: string): string => text.replace(/[^\x21-\x7e]/gu, '-').slice(0, 128);

/**
 * Phones that are done with, each with why it was refused or null, kept with the delivery: whoever got the message must not
 * get it again, and phones have no key that drops repeats.
 */
const kept = z.record(z.string(), z.string().nullable());

function endsIn(rest: string | undefined): Map<string, Outcome> {
  const known = rest === undefined ? {} : (kept.safeParse(JSON.parse(rest)).data ?? {});
  return new Map(
    Object.entries(known).map(([number, reason]): [string, Outcome] => [
      number,
      reason === null ? { kind: 'sent' } : { kind: 'refused', reason, isAboutMessage: true },
    ]),
  );
}

function restAfter(ends: ReadonlyMap<string, Outcome>): string {
  const done = [...ends].flatMap(([number, end]) =>
    end.kind === 'retry' ? [] : [[number, end.kind === 'sent' ? null : end.reason] as const],
  );
  return JSON.stringify(Object.fromEntries(done));
}

async function toPhones(
  event: HeadgateEvent,
  settings: SnsSettings,
  { publish, rest }: Way,
): Promise<Outcome> {
  const { __phoneNumber: wanted } = steeringOf(event);
  const numbers = numbersOf(
    typeof wanted === 'string' && wanted !== '' ? wanted : (settings.phoneNumber ?? ''),
  );
  const ends = endsIn(rest);
  for (const number of new Set(numbers)) {
    if (ends.has(number)) continue;
    const refusal = refusalOf(number, settings);
    const end = refusal ?? (await publish({ PhoneNumber: number, Message: shortText(event) }));
    ends.set(number, end);
  }
  const outcome = together(ends);
  return outcome.kind === 'retry' ? { ...outcome, rest: restAfter(ends) } : outcome;
}

function refusalOf(number: string, { allowList }: SnsSettings): Outcome | undefined {
  const refused = (reason: string): Outcome => ({ kind: 'refused', reason, isAboutMessage: true });
  if (!/^\+[1-9]\d{6,14}$/.test(number))
    return refused('no phone number such as +15555551234; set phoneNumber');
  if (allowList.length > 0 && !allowList.some(pattern => fits(pattern, number)))
    return refused('not in allowList');
  return undefined;
}

/** One phone that is not reached keeps no other from the message. */
function together(ends: ReadonlyMap<string, Outcome>): Outcome {
  const failed = [...ends].filter(([, end]) => end.kind !== 'sent');
  const [first] = failed;
  if (first === undefined) return { kind: 'sent', httpStatus: 200 };
  const reason = failed
    .slice(0, 10)
    .map(([number, end]) => `${number}: ${end.kind === 'sent' ? '' : end.reason}`)
    .join('; ');
  const [, whole] = failed.find(([, { kind }]) => kind === 'retry') ?? first;
  const taken = failed.length < ends.size ? 'taken for the others, ' : '';
  if (whole.kind === 'retry') return { ...whole, reason: `${taken}${reason}` };
  return taken === ''
    ? { ...whole, ...(whole.kind === 'refused' && { reason }) }
    : { kind: 'sent', except: `${taken}${reason}` };
}

interface Held {
  readonly publisher: Promise<Publisher>;
  readonly keys: string;
}

/** A target keeps what it signs with, for each way out: a role is not taken on for every message. */
const held = new WeakMap<SnsSettings, WeakMap<HttpClient, Held>>();

function publisherOf(settings: SnsSettings, { http, secretOf }: SendContext): Promise<Publisher> {
  const access = { settings, http, secretOf };
  const keys = JSON.stringify(ownKeys(access) ?? null);
  const ofTarget = held.get(settings) ?? new WeakMap<HttpClient, Held>();
  held.set(settings, ofTarget);
  const known = ofTarget.get(http);
  if (known?.keys === keys) return known.publisher;
  const publisher = import('./sns-client.ts').then(({ createPublisher }) => createPublisher(access));
  ofTarget.set(http, { publisher, keys });
  return publisher;
}

async function publishOnce(
  input: PublishCommandInput,
  settings: SnsSettings,
  context: SendContext,
  signal: AbortSignal,
): Promise<Outcome> {
  const attempt = async (): Promise<Outcome> => {
    const publisher = await publisherOf(settings, context);
    await publisher.publish(input, signal);
    return { kind: 'sent', httpStatus: 200 };
  };
  try {
    return await attempt().catch(error => {
      if (!isExpired(error)) throw error;
      held.get(settings)?.delete(context.http);
      return attempt();
    });
  } catch (error) {
    if (signal.aborted) return { kind: 'retry', reason: `SNS: no end within ${MOST_MS / 1000} s` };
    return outcomeOfSnsFailure(error, { settings, secretOf: context.secretOf });
  }
}
