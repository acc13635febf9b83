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

describe('an inhibition', () => {
  const NOTIFICATIONS =
    'notifications: [{ id: silent, condition: no-data, conf: { name: x, timeWindow: 60s }, metadata: [{ name: team, value: "1" }] }]';
  const POSTED = 'notifications: [{ id: silent, condition: monitor-alerts }]';
  const warnings = (rule: string, notifications = NOTIFICATIONS) =>
    warningsOf({ notifications: `${notifications}\ninhibitions: [{ id: a, ${rule} }]` });
  const SOUND = 'when: [{ name: severity, value: fatal }], hold: [{ name: team, op: =~, value: .+ }]';

  it('is warned of for fields that no event has', () => {
    expect(warnings(`${SOUND}, equal: [pipeline, group, host, input]`)).toEqual([]);
    expect(warnings(`${SOUND}, equal: [input, hst]`)).toEqual([
      expect.stringMatching(
        /no event has a field 'hst'; did you mean 'host'\? \(inhibitions\[0\]\.equal\[1\]\)$/,
      ),
    ]);
    expect(warnings('when: [{ name: rack, value: b }], hold: [{ name: severity, value: warn }]')).toEqual([
      expect.stringMatching(/no event has a field 'rack' \(inhibitions\[0\]\.when\[0\]\.name\)$/),
    ]);
  });

  it('may ask for fields of senders, but a slip is named', () => {
    expect(warnings(`${SOUND}, equal: [rack]`, POSTED)).toEqual([]);
    expect(warnings(`${SOUND}, equal: [hosst]`, POSTED)).toEqual([
      expect.stringContaining("no event has a field 'hosst'; did you mean 'host'?"),
    ]);
  });

  it.each([
    ['cribl_notification', '=', 'silnt', "; did you mean 'silent'?"],
    ['cribl_notification', '=~', 'edge_.*', ''],
    ['condition', '=', 'high-volume', ''],
    ['severity', '=', 'critical', ''],
    ['status', '!=', 'ALARM', ''],
  ])('is warned of when nothing can fit %s %s %s', (name, op, value, near) => {
    const side = `[{ name: ${name}, op: '${op}', value: '${value}' }]`;
    expect(warnings(`when: ${side}, hold: [{ name: severity, value: warn }]`)).toEqual([
      expect.stringContaining(
        `nothing can fit what is asked of '${name}'${near} (inhibitions[0].when[0].value)`,
      ),
    ]);
  });

  it('is warned of when its matchers exclude each other, or both sides are the same', () => {
    expect(
      warnings(
        'when: [{ name: team, value: a }, { name: team, op: "!=", value: a }], hold: [{ name: severity, value: warn }]',
      ),
    ).toEqual([expect.stringContaining("nothing can fit what is asked of 'team'")]);
    const side = '[{ name: severity, value: warn }]';
    expect(warnings(`when: ${side}, hold: ${side}`)).toEqual([
      expect.stringContaining('is the same as `when`'),
    ]);
  });

  it('is refused with all that is wrong with it, and beyond a thousand', () => {
    const wrong = '{ id: a, when: [], hold: [{ name: __x, value: "" }], equals: [host] }';
    const found = errorsOf({ notifications: `inhibitions: [${wrong}]` });
    expect(found).toEqual(
      expect.arrayContaining([
        expect.stringContaining('(inhibitions[0].when)'),
        expect.stringContaining('(inhibitions[0].hold[0].name)'),
        expect.stringContaining("did you mean 'equal'?"),
      ]),
    );
    const many = Array.from({ length: 1001 }, (_, index) => `{ id: i${index}, ${SOUND} }`);
    expect(errorsOf({ notifications: `${NOTIFICATIONS}\ninhibitions: [${many.join(', ')}]` })).toEqual([
      expect.stringContaining('1001 inhibitions are more than the 1000 that there may be'),
    ]);
    expect(
      errorsOf({ notifications: `${NOTIFICATIONS}\ninhibitions: [${many.slice(1).join(', ')}]` }),
    ).toEqual([]);
  });

  it('may be missing, and its list may be a map by id', () => {
    expect(errorsOf({ notifications: NOTIFICATIONS })).toEqual([]);
    expect(errorsOf({ notifications: `${NOTIFICATIONS}\ninhibitions: { a: { ${SOUND} } }` })).toEqual([]);
  });
});
