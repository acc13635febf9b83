import { ONE_OBJECT, type Preset, TEXT, TITLE } from './preset.ts';

/** Creates an issue of Jira for each alarm. A person closes it: ends are not sent. */
export const jira: Preset = {
  name: 'jira',
  service: 'Jira',
  page: 'https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issues/#api-rest-api-3-issue-post',
  settings: {
    ...ONE_OBJECT,
    srcExpression: `{ fields: {
      project: { key: __options.project },
      issuetype: { name: __options.issue_type || 'Task' },
      summary: truncate(${TITLE}, 255),
      description: {
        type: 'doc',
        version: 1,
        content: [{ type: 'paragraph', content: [{ type: 'text', text: truncate(${TEXT}, 16000) }] }]
      },
      labels: ['headgate']
    } }`,
    resolveExpression: 'null',
    customDropWhenNull: true,
    successExpression: "status === 201 ? typeof json.key === 'string' : byStatus === true ? false : byStatus",
  },
  options: {
    project: { description: 'Key of the project.', isRequired: true },
    issue_type: { description: 'Type of the issues; by default `Task`.' },
  },
  limits: 'The summary is cut to 255 characters in one line, the description to 16,000.',
  success: '201 with the `key` of the issue. 429 is tried again after its Retry-After. Ends are skipped.',
  example: {
    url: 'https://company.atlassian.net/rest/api/3/issue',
    authType: 'basic',
    username: 'headgate@company.example',
    password: '${secret:jira_token}',
    options: { project: 'OPS' },
  },
};
