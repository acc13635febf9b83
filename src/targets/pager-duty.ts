import * as z from 'zod';
import { httpUrl, secretText } from '../lib/schemas.ts';
import { VERSION } from '../lib/version.ts';
import { MAX_ANSWER_BYTES, outcomeOfAnswer, outcomeOfFailure } from './http-outcome.ts';
import type { Outcome } from './outcome.ts';
import { pagerDutyEvent } from './pager-duty-event.ts';
import { retrySettings } from './retry-settings.ts';
import { commonSettings } from './settings.ts';
import { defineTarget } from './target.ts';

const TIMEOUT_MS = 30_000;

/** Integration keys have 32 characters; other lengths are left to the service to refuse. */
const routingKey = secretText.refine(secret => /^[\x21-\x7e]{1,255}$/.test(secret.reveal()), {
  error: 'must be 1 to 255 visible ASCII characters, without spaces and line breaks',
});

/** The service's own words; `warn` is how the family's files say it. */
const severity = z
  .enum(['info', 'warning', 'error', 'critical', 'warn'])
  .transform(word => (word === 'warn' ? 'warning' : word));

const detail = z.string().min(1).max(1024).optional();

/** Opens and resolves alerts by the Events API v2 of PagerDuty. */
export const pagerDuty = defineTarget({
  type: 'pager_duty',
  description: 'Opens and resolves alerts in PagerDuty.',
  neverGroups: () => true,
  schema: z.strictObject({
    ...commonSettings,
    type: z.literal('pager_duty').describe('Kind of target.'),
    routingKey: routingKey.describe('Integration key of the service.'),
    severity: severity.describe('Severity of the alerts; warn is read as warning.'),
    group: detail.describe('Group the alerts belong to.'),
    class: detail.describe('Class of the alerts.'),
    component: detail.describe('Component the alerts are about.'),
    url: httpUrl
      .default('https://events.pagerduty.com/v2/enqueue')
      .describe(
        'Address of the Events API; for accounts in the European region `https://events.eu.pagerduty.com/v2/enqueue`.',
      )
      .meta({ destination: true }),
    ...retrySettings,
  }),
  concurrency: () => 5,
  keepsOpen: true,
  destination: ({ routingKey, url }) => `${routingKey.reveal()} ${url}`,
  async send([event], settings, context) {
    if (event === undefined) return { kind: 'sent' };
    const { url } = settings;
    const key = settings.routingKey.reveal();
    try {
      const answer = await context.http.request({
        url,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': `headgate/${VERSION}` },
        body: pagerDutyEvent(event, { ...settings, routingKey: key }),
        timeoutMs: TIMEOUT_MS,
        maxAnswerBytes: MAX_ANSWER_BYTES,
        proxied: true,
        signal: context.signal,
      });
      const exchange = { url, retries: settings, secrets: [key], now: context.clock.now() };
      return aboutTheKey(outcomeOfAnswer(answer, exchange));
    } catch (error) {
      return outcomeOfFailure(error, settings);
    }
  },
});

/** A key that is wrong is so for every message: the answer to it has the same status as one to a wrong event. */
function aboutTheKey(outcome: Outcome): Outcome {
  if (outcome.kind !== 'refused' || !/routing[_ ]key/i.test(outcome.answer ?? '')) return outcome;
  const { isAboutMessage: _, ...rest } = outcome;
  return { ...rest, reason: `${outcome.reason}; check routingKey` };
}
