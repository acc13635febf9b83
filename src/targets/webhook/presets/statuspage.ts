import { ONE_OBJECT, type Preset } from './preset.ts';

/** Sets the status of a component of Atlassian Statuspage: down with the alarm, operational with its end. */
export const statuspage: Preset = {
  name: 'statuspage',
  service: 'Statuspage',
  page: 'https://developer.statuspage.io/#operation/patchPagesPageIdComponentsComponentId',
  settings: {
    ...ONE_OBJECT,
    method: 'PATCH',
    authScheme: 'OAuth',
    srcExpression: "{ component: { status: __options.status || 'major_outage' } }",
    resolveExpression: "{ component: { status: 'operational' } }",
    pacing: '1/second',
    successExpression: "status === 420 ? 'later' : byStatus",
  },
  options: {
    status: {
      description:
        'Status of the component while the alarm is on: `degraded_performance`, `partial_outage`, `major_outage` or `under_maintenance`; by default `major_outage`.',
    },
  },
  keepsOpen: true,
  dropsRepeats: true,
  limits: '1 request a second.',
  success: '200. 420 and 429, too fast, are tried again.',
  example: {
    url: 'https://api.statuspage.io/v1/pages/PAGE/components/COMPONENT',
    authType: 'token',
    token: '${secret:statuspage_key}',
  },
};
