import { bySeverity, type Preset, SUBJECT, TEXT } from './preset.ts';

/** Sends events to the Event Management of ServiceNow, which opens and closes alerts by their key. */
export const servicenow: Preset = {
  name: 'servicenow',
  service: 'ServiceNow Event Management',
  page: 'https://www.servicenow.com/docs/bundle/zurich-it-operations-management/page/product/event-management/task/send-events-via-web-service.html',
  settings: {
    format: 'custom',
    customContentType: 'application/json',
    srcExpression: `{
      source: 'Headgate',
      event_class: truncate(cribl_host || 'headgate', 100),
      node: truncate(${SUBJECT}, 100),
      resource: truncate(cribl_notification, 100),
      type: condition,
      message_key: incidentId,
      severity: status === 'OK' ? '0' : ${bySeverity("'1'", "'2'", "'4'", "'4'")},
      description: truncate(${TEXT}, 4000),
      time_of_event: isoTime(_time).slice(0, 19).replace('T', ' '),
      additional_info: JSON.stringify({ status, severity, incidentUrl: truncate(incidentUrl || '', 1500), runbookUrl: truncate(runbookUrl || '', 1500) })
    }`,
    customEventDelimiter: ',',
    customPayloadExpression: '{"records":[${events}]}',
    maxPayloadEvents: 100,
    successExpression: 'byStatus === true ? json.error === undefined : byStatus',
  },
  keepsOpen: true,
  dropsRepeats: true,
  limits:
    'The description is cut to 4,000 characters, names to 100, links to 1,500. At most 100 events a request.',
  success: '2xx without `error` in the body.',
  example: {
    url: 'https://company.service-now.com/api/global/em/jsonv2',
    authType: 'basic',
    username: 'headgate',
    password: '${secret:servicenow_password}',
  },
};
