import { ONE_OBJECT, type Preset, SUBJECT, TEXT, TITLE } from './preset.ts';

/** Opens and resolves alerts of incident.io by an HTTP alert source. */
export const incidentIo: Preset = {
  name: 'incident_io',
  service: 'incident.io',
  page: 'https://api-docs.incident.io/tag/Alert-Events-V2',
  settings: {
    ...ONE_OBJECT,
    srcExpression: `{
      title: truncate(${TITLE}, 250),
      description: truncate(${TEXT}, 16000),
      deduplication_key: incidentId,
      status: status === 'OK' ? 'resolved' : 'firing',
      metadata: { notification: cribl_notification, subject: ${SUBJECT}, severity, condition },
      ...(incidentUrl ? { source_url: incidentUrl } : {})
    }`,
    successExpression: "byStatus === true ? json.status === 'success' : byStatus",
  },
  keepsOpen: true,
  dropsRepeats: true,
  limits: 'The title is cut to 250 characters, the description to 16,000.',
  success: '202 with `status` success. 429 is tried again.',
  example: {
    url: 'https://api.incident.io/v2/alert_events/http/SOURCE',
    authType: 'token',
    token: '${secret:incident_io_token}',
  },
};
