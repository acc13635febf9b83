import { bySeverity, ONE_OBJECT, type Preset, TEXT, TITLE } from './preset.ts';

/** Publishes messages to a topic of ntfy. */
export const ntfy: Preset = {
  name: 'ntfy',
  service: 'ntfy',
  page: 'https://docs.ntfy.sh/publish/#publish-as-json',
  settings: {
    ...ONE_OBJECT,
    srcExpression: `{
      topic: __options.topic,
      title: truncateBytes(${TITLE}, 250),
      message: truncateBytes(${TEXT}, 3000),
      priority: ${bySeverity('5', '4', '3', '3')},
      tags: [status === 'OK' ? 'white_check_mark' : 'rotating_light'],
      ...(incidentUrl && incidentUrl.length < 1000 ? { click: incidentUrl } : {})
    }`,
    pacing: '12/minute',
    successExpression: "status === 200 ? typeof json.id === 'string' : byStatus",
  },
  options: { topic: { description: 'The topic.', isRequired: true } },
  limits: 'A request of 8,192 bytes: the message is cut to 3,000. 12 messages a minute, as ntfy.sh refills.',
  success: '200 with the `id` of the message. 429 is tried again.',
  example: { url: 'https://ntfy.sh', options: { topic: 'company-alerts' } },
};
