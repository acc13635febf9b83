import type { HttpAnswer } from '../lib/http.ts';
import { type Exchange, outcomeOfAnswer, shownAnswer } from './http-outcome.ts';
import type { Outcome } from './outcome.ts';
import { waitsOfStatus } from './retry-settings.ts';

/** What Slack says of the message itself: another one may well be taken. */
const ABOUT_THE_MESSAGE: readonly string[] = [
  'invalid_attachments',
  'invalid_blocks',
  'invalid_payload',
  'msg_blocks_too_long',
  'msg_too_long',
  'no_text',
  'too_many_attachments',
];

/** What Slack says of the webhook, and what a person can do about it. */
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

/** What an answer of Slack's means: success is 200 with the body `ok`, all else is told by a word in the body. */
export function outcomeOfSlack(answer: HttpAnswer, exchange: Exchange): Outcome {
  const word = wordOf(answer.body.toString('utf8'));
  const isTaken = answer.status === 200 && word === 'ok';
  const isSuccess = answer.status >= 200 && answer.status <= 299;
  if (isTaken || (!isSuccess && !isRefusal(word))) return outcomeOfAnswer(answer, exchange);
  const shown = shownAnswer(answer, exchange);
  if (isSuccess && !isRefusal(word))
    return { kind: 'retry', reason: `Slack answered ${answer.status} without 'ok'`, ...shown };
  const waits = waitsOfStatus(exchange.retries, answer.status);
  if (waits !== undefined) return outcomeOfAnswer(answer, exchange);
  const remedy = REMEDIES[word];
  return {
    kind: 'refused',
    reason: `Slack answered ${answer.status} ${word}${remedy === undefined ? '' : `; ${remedy}`}`,
    ...shown,
    ...(ABOUT_THE_MESSAGE.includes(word) && { isAboutMessage: true }),
  };
}

const isRefusal = (word: string): boolean =>
  ABOUT_THE_MESSAGE.includes(word) || Object.hasOwn(REMEDIES, word);

/** A plain word, or the `error` of an object as other parts of Slack answer. */
function wordOf(body: string): string {
  const text = body.trim();
  return /"error"\s*:\s*"(\w{1,64})"/.exec(text)?.[1] ?? text;
}
