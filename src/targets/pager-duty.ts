import * as z from 'zod';
import { secretText } from '../lib/schemas.ts';
import { retrySettings } from './retry-settings.ts';
import { commonSettings } from './settings.ts';
import { defineUnsentTarget } from './target.ts';

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
export const pagerDuty = defineUnsentTarget({
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
    ...retrySettings,
  }),
});
