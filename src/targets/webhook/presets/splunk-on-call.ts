import { bySeverity, ONE_OBJECT, type Preset, TEXT, TITLE } from './preset.ts';

/** Opens and resolves incidents of Splunk On-Call by the REST endpoint. */
export const splunkOnCall: Preset = {
  name: 'splunk_on_call',
  service: 'Splunk On-Call',
  page: 'https://help.splunk.com/en/splunk-on-call/integrations/rest-endpoint-integration',
  settings: {
    ...ONE_OBJECT,
    srcExpression: `{
      message_type: status === 'OK' ? 'RECOVERY' : ${bySeverity("'CRITICAL'", "'CRITICAL'", "'WARNING'", "'INFO'")},
      entity_id: incidentId,
      entity_display_name: truncate(${TITLE}, 250),
      state_message: truncate(${TEXT}, 20480),
      state_start_time: starttime,
      monitoring_tool: 'Headgate'
    }`,
    successExpression: "byStatus === true ? json.result === 'success' : byStatus",
  },
  keepsOpen: true,
  dropsRepeats: true,
  limits: 'The message is cut to 20,480 characters. `info` opens no incident there.',
  success: '200 with `result` success.',
  example: { url: '${secret:splunk_on_call_url}' },
};
