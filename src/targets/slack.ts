import * as z from 'zod';
import { withAliases } from '../lib/aliases.ts';
import { rate } from '../lib/rate.ts';
import { secretUrl } from '../lib/schemas.ts';
import { VERSION } from '../lib/version.ts';
import { MAX_ANSWER_BYTES, outcomeOfFailure } from './http-outcome.ts';
import { retrySettings } from './retry-settings.ts';
import { commonSettings } from './settings.ts';
import { slackMessage } from './slack-message.ts';
import { outcomeOfSlack } from './slack-outcome.ts';
import { defineTarget } from './target.ts';

const TIMEOUT_MS = 30_000;

/** Posts events to a channel by an incoming webhook of Slack's. */
export const slack = defineTarget({
  type: 'slack',
  description: 'Posts events to a Slack channel.',
  schema: withAliases(
    z.strictObject({
      ...commonSettings,
      type: z.literal('slack').describe('Kind of target.'),
      slackUrl: secretUrl
        .describe('Address of the incoming webhook; whoever knows it can post.')
        .meta({ aliases: ['url'], destination: true }),
      ...retrySettings,
      // What Slack allows an incoming webhook.
      pacing: rate.prefault('1/second').describe('Post no faster than this; what waits goes in one message.'),
    }),
  ),
  // A channel shows messages in the order in which they come.
  concurrency: () => 1,
  // Slack counts by webhook, not by who posts to it.
  paceKey: ({ slackUrl }) => `slack ${new URL(slackUrl.reveal()).href}`,
  batching: () => ({ maxEvents: 500, maxBytes: 4 * 1024 * 1024, gatherMs: 0 }),
  async send(events, settings, context) {
    const url = settings.slackUrl.reveal();
    try {
      const answer = await context.http.request({
        url,
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8', 'user-agent': `headgate/${VERSION}` },
        body: JSON.stringify(slackMessage(events)),
        timeoutMs: TIMEOUT_MS,
        maxAnswerBytes: MAX_ANSWER_BYTES,
        proxied: true,
        signal: context.signal,
      });
      return outcomeOfSlack(answer, { url, retries: settings, secrets: [url], now: context.clock.now() });
    } catch (error) {
      return outcomeOfFailure(error, settings);
    }
  },
});
