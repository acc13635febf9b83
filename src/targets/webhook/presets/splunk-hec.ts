import type { Preset } from './preset.ts';

/** Sends events to the HTTP Event Collector of Splunk. */
export const splunkHec: Preset = {
  name: 'splunk_hec',
  service: 'Splunk HTTP Event Collector',
  page: 'https://help.splunk.com/en/splunk-enterprise/get-data-in/collect-http-event-data/format-events-for-http-event-collector',
  settings: {
    authScheme: 'Splunk',
    format: 'custom',
    customContentType: 'application/json',
    srcExpression: `{
      time: _time,
      host: cribl_host || 'headgate',
      source: 'headgate',
      sourcetype: __options.sourcetype || 'headgate:event',
      ...(__options.index ? { index: __options.index } : {}),
      event: {
        ...__e,
        _raw: truncate(_raw, 60000),
        ...(description ? { description: truncate(description, 60000) } : {})
      }
    }`,
    maxPayloadSizeKB: 1024,
    successExpression: 'byStatus === true ? json.code === 0 : byStatus',
  },
  options: {
    index: { description: 'Index that the events go to; by default that of the token.' },
    sourcetype: { description: 'Source type of the events; by default `headgate:event`.' },
  },
  limits:
    'Events are sent together, up to 1 MB a request. Text and description are cut to 60,000 characters.',
  success: '200 with `code` 0. 503, busy, is tried again.',
  example: {
    url: 'https://splunk.example:8088/services/collector/event',
    authType: 'token',
    token: '${secret:splunk_token}',
  },
};
