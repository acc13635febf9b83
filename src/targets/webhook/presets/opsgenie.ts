import { bySeverity, ONE_OBJECT, type Preset, SUBJECT, TEXT, TITLE } from './preset.ts';

/** Creates and closes alerts of Opsgenie by their alias. */
export const opsgenie: Preset = {
  name: 'opsgenie',
  service: 'Opsgenie',
  page: 'https://docs.opsgenie.com/docs/alert-api',
  settings: {
    ...ONE_OBJECT,
    authScheme: 'GenieKey',
    srcExpression: `{
      message: truncate(${TITLE}, 130),
      alias: truncate(incidentId, 512),
      description: truncate(${TEXT}, 15000),
      entity: truncate(${SUBJECT}, 512),
      source: 'Headgate',
      priority: ${bySeverity("'P1'", "'P2'", "'P3'", "'P5'")},
      tags: [truncate(condition, 50)],
      details: { notification: truncate(cribl_notification, 512), incident: truncate(incidentUrl || '', 3000), runbook: truncate(runbookUrl || '', 3000) }
    }`,
    resolveExpression: `{ source: 'Headgate', note: truncate(${TEXT}, 25000) }`,
    successExpression: 'byStatus === true ? status === 202 || json.result !== undefined : byStatus',
  },
  resolvePath: '/${incidentId}/close?identifierType=alias',
  keepsOpen: true,
  dropsRepeats: true,
  limits:
    'The message is cut to 130 characters, the description to 15,000, the note of the end to 25,000, links among the details to 3,000.',
  success: '202, or a 2xx with a `result`. 422 refuses the alert; 429 is tried again.',
  example: {
    url: 'https://api.opsgenie.com/v2/alerts',
    authType: 'token',
    token: '${secret:opsgenie_key}',
  },
};
