import { expect, it } from 'vitest';
import { errorsOf } from '../../../test/helpers/config-folder.ts';

const HOOK = 'id: hook, type: webhook, url: "https://hooks.example/"';
const SNS =
  'id: t, type: sns, region: eu-west-1, destinationType: topic, topicArn: "arn:aws:sns:eu-west-1:1:t", messageGroupId: ""';

it.each([
  ['targets[0].extraHttpHeaders[0]', `${HOOK}, extraHttpHeaders: [~]`],
  ['targets[0].safeHeaders[0]', `${HOOK}, safeHeaders: [~]`],
  ['targets[0].systemFields[0]', `${HOOK}, systemFields: [~]`],
  ['targets[0].responseRetrySettings[0]', `${HOOK}, responseRetrySettings: [~]`],
  ['targets[0].timeoutRetrySettings', `${HOOK}, timeoutRetrySettings: []`],
  ['targets[0].allowList[0]', `${SNS}, allowList: [~]`],
  ['targets[0].routes[0]', 'id: r, type: router, routes: [~]'],
])('an empty item at %s is an error with its line, whatever else is right', (path, target) => {
  const notifications = `targets:\n  - { ${target} }\n`;
  expect(errorsOf({ notifications })).toEqual([expect.stringMatching(/^notifications\.yml:2:\d+: /)]);
  expect(errorsOf({ notifications })[0]).toContain(`(${path})`);
});

it.each([
  ['notifications[0].targets[0]', 'targets: [~]'],
  ['notifications[0].targetConfigs[0]', 'targets: [], targetConfigs: [~]'],
  ['notifications[0].metadata[0]', 'targets: [], metadata: [~]'],
  ['notifications[0].groupBy[0]', 'targets: [], groupBy: [~]'],
  ['notifications[0].muteWindows[0]', 'targets: [], muteWindows: [~]'],
])('an empty item at %s is as well', (path, settings) => {
  const notifications = `notifications:\n  - { id: n, condition: monitor-alerts, conf: {}, ${settings} }\n`;
  expect(errorsOf({ notifications })).toEqual([expect.stringMatching(/^notifications\.yml:2:\d+: /)]);
  expect(errorsOf({ notifications })[0]).toContain(`(${path})`);
});
