import { MESSAGE, ONE_OBJECT, type Preset, TITLE } from './preset.ts';

/** Posts adaptive cards to a workflow of Microsoft Teams, or to an old connector. */
export const teams: Preset = {
  name: 'teams',
  service: 'Microsoft Teams',
  page: 'https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook',
  settings: {
    ...ONE_OBJECT,
    srcExpression: `{ type: 'message', attachments: [{
      contentType: 'application/vnd.microsoft.card.adaptive',
      content: {
        type: 'AdaptiveCard',
        version: '1.4',
        body: [
          { type: 'TextBlock', text: truncate(${TITLE}, 500), weight: 'Bolder', wrap: true, color: status === 'OK' ? 'Good' : 'Attention' },
          { type: 'TextBlock', text: truncateBytes(${MESSAGE}, 8000), wrap: true }
        ],
        actions: incidentUrl && incidentUrl.length < 2000 ? [{ type: 'Action.OpenUrl', title: 'Incident', url: incidentUrl }] : []
      }
    }] }`,
    pacing: '4/second',
    successExpression:
      "status === 200 && body.trim() !== '' && body.trim() !== '1' ? (body.includes('429') ? 'later' : false) : byStatus",
  },
  limits: 'A card of 28 KB: the text is cut to 8,000 bytes. 4 requests a second.',
  success:
    '202, or 200 with nothing or `1` in the body. Connectors answer 200 with a failure as text: with 429 in it, it is tried again.',
  example: { url: '${secret:teams_url}' },
};
