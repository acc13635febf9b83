import { describe, expect, it } from 'vitest';
import { errorsOf, warningsOf } from '../../../test/helpers/config-folder.ts';

describe('time windows', () => {
  const notifications = (timeWindow: string) =>
    `notifications: [{ id: a, condition: no-data, conf: { name: x, timeWindow: ${timeWindow} } }]`;
  const pipelines = (...intervals: string[]) =>
    `pipelines:\n${intervals.map((interval, index) => `  - { id: p${index}, engine: vector, url: "http://h/", interval: ${interval} }\n`).join('')}`;

  it('must be three times the smallest interval of the pipelines', () => {
    expect(errorsOf({ settings: pipelines('30s', '40s'), notifications: notifications('90s') })).toEqual([]);
    expect(errorsOf({ settings: pipelines('30s', '40s'), notifications: notifications('89s') })).toEqual([
      expect.stringMatching(
        /89s is less than 3 times the interval of pipeline 'p0' \(30s\).*\.conf\.timeWindow\)$/,
      ),
    ]);
  });

  it('are warned of when a slower pipeline needs more', () => {
    const given = { settings: pipelines('10s', '40s'), notifications: notifications('90s') };
    expect(errorsOf(given)).toEqual([]);
    expect(warningsOf(given)).toEqual([expect.stringContaining("pipeline 'p1' (40s)")]);
  });

  it('are held against their pipelines although other settings are wrong', () => {
    const found = errorsOf({ settings: `api: 1\n${pipelines('1m')}`, notifications: notifications('90s') });
    expect(found).toEqual([expect.stringMatching(/\(api\)$/), expect.stringContaining("pipeline 'p0' (1m)")]);
  });

  it('may be short, with a warning, where pipelines push or are read often enough', () => {
    const push = 'pipelines: [{ id: s, engine: rsyslog, push: true, token: "${env:T}" }]';
    const environment = { T: 'long enough' };
    expect(warningsOf({ settings: push, environment, notifications: notifications('2s') })).toEqual([
      expect.stringContaining('2s is a short window'),
    ]);
    expect(errorsOf({ settings: pipelines('1s'), notifications: notifications('3s') })).toEqual([]);
    expect(warningsOf({ settings: pipelines('1s'), notifications: notifications('60s') })).toEqual([]);
  });
});

describe('a notification on pipelines', () => {
  const settings = `pipelines:
  - { id: edge, engine: vector, url: "http://h/", interval: 10s, group: west }
  - { id: slow, engine: vector, url: "http://h/", interval: 10m }
`;
  const notifications = (conf: string) =>
    `notifications: [{ id: a, condition: pipeline-unreachable, conf: { timeWindow: 60s, ${conf} } }]`;
  const warnings = (conf: string) => warningsOf({ settings, notifications: notifications(conf) });

  it('is warned of when no pipeline has its name', () => {
    expect(warnings('name: edge')).toEqual([]);
    expect(warnings("name: 'e*'")).toEqual([]);
    expect(warnings('name: edgy')).toEqual([
      expect.stringMatching(/no pipeline has the id 'edgy'.*did you mean 'edge'.*\.conf\.name\)$/),
    ]);
    expect(warnings("name: 'x*'")).toEqual([
      expect.stringContaining("no pipeline has an id like 'x*'; nothing is sent until one has"),
    ]);
    expect(warnings('name: edge, __workerGroup: east')).toEqual([
      expect.stringContaining("no pipeline in the group 'east' has the id 'edge'"),
    ]);
  });

  it('needs a window for the pipelines that it means and for no others', () => {
    const errors = (conf: string) => errorsOf({ settings, notifications: notifications(conf) });
    expect(errors('name: edge')).toEqual([]);
    expect(errors('name: slow')).toEqual([expect.stringContaining("the interval of pipeline 'slow' (10m)")]);
    expect(warnings("name: '*'")).toEqual([expect.stringContaining("pipeline 'slow' (10m)")]);
  });
});
