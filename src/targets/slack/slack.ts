import * as z from 'zod';
import type { HeadgateEvent } from '../../events/event.ts';
import { withAliases } from '../../lib/aliases.ts';
import type { HttpAnswer } from '../../lib/http/client.ts';
import { rate } from '../../lib/rate.ts';
import { secretUrl } from '../../lib/schemas.ts';
import { wellFormedJson } from '../../lib/text.ts';
import { VERSION } from '../../lib/version.ts';
import {
  connectionOf,
  connectionSecrets,
  connectionSettings,
  requestPatienceMs,
} from '../http-connection.ts';
import {
  classifyAnswer,
  type HttpExchange,
  redactedAnswer,
  retrySettings,
  sendRequest,
  type TargetRequest,
  waitsForStatus,
} from '../http-target.ts';
import type { Outcome } from '../outcome.ts';
import { commonSettings, defineTarget, type SendContext } from '../target.ts';
import { slackMessage } from './message.ts';

const schema = withAliases(
  z.strictObject({
    ...commonSettings,
    type: z.literal('slack').describe('Kind of target.'),
    slackUrl: secretUrl
      .describe('Address of the incoming webhook; everybody who knows it can post.')
      .meta({ aliases: ['url'], destination: true }),
    ...retrySettings,
    ...connectionSettings,
    // Slack's limit for an incoming webhook.
    pacing: rate.prefault('1/second').describe('Post no faster than this; what waits goes in one message.'),
  }),
);

type SlackSettings = z.output<typeof schema>;

/** Posts events to a channel by an incoming webhook of Slack's. */
export const slack = defineTarget({
  type: 'slack',
  description: 'Posts events to a Slack channel.',
  schema,
  aliases: { url: 'slackUrl' },
  templates: [],
  references: [],
  needsRecipients: false,
  usesProcessIdentity: () => undefined,
  files: [],
  // A channel shows messages in the order in which they come.
  showsRepeats: () => true,
  concurrency: () => 1,
  patienceMs: settings => requestPatienceMs(settings),
  // Slack counts by webhook, not by sender.
  rateLimitKey: ({ slackUrl }) => `slack ${new URL(slackUrl.reveal()).href}`,
  batching: () => ({ maxEvents: 500, maxBytes: 4 * 1024 * 1024, lingerMs: 0 }),
  send: (events, settings, context) =>
    sendRequest(requestOf(events, settings, context), context, classifySlackAnswer),
  preview: (events, settings, context) => ({
    kind: 'request',
    request: requestOf(events, settings, context),
  }),
});

function requestOf(
  events: readonly HeadgateEvent[],
  settings: SlackSettings,
  { showsSystemFields }: Pick<SendContext, 'showsSystemFields'>,
): TargetRequest {
  const url = settings.slackUrl.reveal();
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': `headgate/${VERSION}`,
  };
  const message = showsSystemFields === false ? slackMessage(events, () => []) : slackMessage(events);
  const body = wellFormedJson(message);
  const secrets = [url, ...connectionSecrets(settings)];
  const connection = connectionOf(settings);
  return { url, headers, body, connection, retries: settings, secrets };
}

/** Errors of the message itself: another one may be accepted. */
const MESSAGE_ERRORS: readonly string[] = [
  'invalid_attachments',
  'invalid_blocks',
  'invalid_payload',
  'msg_blocks_too_long',
  'msg_too_long',
  'no_text',
  'too_many_attachments',
];

/** Errors of the webhook, with what a person can do about each. */
const REMEDIES: Readonly<Record<string, string>> = {
  action_prohibited: 'an administrator of the workspace does not allow it',
  channel_is_archived: 'the channel is archived; make a webhook for another one',
  channel_not_found: 'the channel is gone; make a webhook for another one',
  invalid_token: 'check slackUrl',
  no_active_hooks: 'the webhook was disabled; make a new one',
  no_service: 'the webhook was removed or disabled; make a new one',
  no_team: 'the workspace is gone; check slackUrl',
  posting_to_general_channel_denied: 'the webhook may not post to the general channel; use another one',
  team_disabled: 'the workspace is disabled',
  user_not_found: 'the person it posts to is gone; make a new webhook',
};

/**
 * Classifies an answer of Slack: success is 200 with the body `ok`, all else is a word in the body. Servers that take the
 * same messages answer with an object (Rocket.Chat `success`, others `ok`).
 */
function classifySlackAnswer(answer: HttpAnswer, exchange: HttpExchange): Outcome {
  const body = answer.body.toString('utf8');
  const word = errorWordOf(body);
  const isTaken = answer.status === 200 && (word === 'ok' || saysSuccess(body));
  const isSuccess = answer.status >= 200 && answer.status <= 299;
  if (isTaken || (!isSuccess && !isKnownError(word))) return classifyAnswer(answer, exchange);
  const shown = redactedAnswer(answer, exchange);
  if (isSuccess && !isKnownError(word))
    return { kind: 'retry', reason: `Slack answered ${answer.status} without 'ok'`, ...shown };
  const waits = waitsForStatus(exchange.retries, answer.status);
  if (waits !== undefined) return classifyAnswer(answer, exchange);
  const remedy = REMEDIES[word];
  return {
    kind: 'refused',
    reason: `Slack answered ${answer.status} ${word}${remedy === undefined ? '' : `; ${remedy}`}`,
    ...shown,
    ...(MESSAGE_ERRORS.includes(word) && { isAboutMessage: true }),
  };
}

const isKnownError = (word: string): boolean =>
  MESSAGE_ERRORS.includes(word) || Object.hasOwn(REMEDIES, word);

/** True for an object whose `ok` or `success` is true and that names no error. */
function saysSuccess(body: string): boolean {
  try {
    const said: unknown = JSON.parse(body);
    if (typeof said !== 'object' || said === null) return false;
    const { ok, success, error }: { ok?: unknown; success?: unknown; error?: unknown } = said;
    return (ok === true || success === true) && ok !== false && success !== false && !error;
  } catch {
    return false;
  }
}

/** Reads a plain word, or the `error` of an object as other parts of Slack answer. */
function errorWordOf(body: string): string {
  const text = body.trim();
  return /"error"\s*:\s*"(\w{1,64})"/.exec(text)?.[1] ?? text;
}
