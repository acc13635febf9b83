import { type Preset, SUBJECT, TEXT } from './preset.ts';

/** Fires and resolves alerts of Prometheus Alertmanager, or of what takes the same. */
export const alertmanager: Preset = {
  name: 'alertmanager',
  service: 'Prometheus Alertmanager',
  page: 'https://prometheus.io/docs/alerting/latest/alerts_api/',
  settings: {
    format: 'json_array',
    // The labels are the alert's identity: its end must have the same ones, and the severity of an end is another.
    srcExpression: `{
      labels: { alertname: cribl_notification, condition, subject: truncate(${SUBJECT}, 1000), incident: incidentId },
      annotations: {
        summary: truncate(_raw, 4000),
        description: truncate(${TEXT}, 8000),
        severity,
        ...(runbookUrl ? { runbook_url: runbookUrl } : {})
      },
      startsAt: isoTime(status === 'OK' ? starttime : endtime),
      endsAt: isoTime(status === 'OK' ? _time : _time + 86400),
      ...(incidentUrl ? { generatorURL: incidentUrl } : {})
    }`,
    maxPayloadEvents: 100,
    successExpression: 'byStatus',
  },
  keepsOpen: true,
  resendMs: 300_000,
  dropsRepeats: true,
  limits: 'At most 100 alerts a request.',
  success:
    '200. Every alarm that is open is sent again each 5 minutes, and soon after a start, also one that Alertmanager has forgotten; `repeatInterval` of the notification is not needed for that. An alarm ends by itself a day after it was last sent.',
  example: { url: 'https://alertmanager.example/api/v2/alerts' },
};
