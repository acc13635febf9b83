import { bySeverity, ONE_OBJECT, type Preset, TEXT, TITLE } from './preset.ts';

/** Sends notifications by an application of Pushover. */
export const pushover: Preset = {
  name: 'pushover',
  service: 'Pushover',
  page: 'https://pushover.net/api',
  settings: {
    ...ONE_OBJECT,
    srcExpression: `{
      title: truncate(${TITLE}, 250),
      message: truncate(${TEXT}, 1024),
      priority: status === 'OK' ? 0 : ${bySeverity('1', '1', '0', '-1')},
      timestamp: _time,
      ...(incidentUrl && incidentUrl.length <= 512 ? { url: incidentUrl } : {})
    }`,
    successExpression: 'byStatus === true ? json.status === 1 : byStatus',
  },
  secretOptions: {
    token: { description: 'Token of the application.', isRequired: true },
    user: { description: 'Key of the user or of the group.', isRequired: true },
  },
  limits: 'The title is cut to 250 characters, the message to 1,024.',
  success: '200 with `status` 1. 429 is tried again.',
  example: {
    url: 'https://api.pushover.net/1/messages.json',
    secretOptions: { token: '${secret:pushover_token}', user: '${secret:pushover_user}' },
  },
};
