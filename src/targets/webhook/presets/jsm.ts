import { opsgenie } from './opsgenie.ts';
import type { Preset } from './preset.ts';

/** Creates and closes alerts of Jira Service Management, whose integrations speak as Opsgenie does. */
export const jsm: Preset = {
  ...opsgenie,
  name: 'jsm',
  service: 'Jira Service Management',
  page: 'https://developer.atlassian.com/cloud/jira/service-desk-ops/rest/v2/api-group-integration-events/',
  example: {
    url: 'https://api.atlassian.com/jsm/ops/integration/v2/alerts',
    authType: 'token',
    token: '${secret:jsm_key}',
  },
};
