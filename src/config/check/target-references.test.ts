import { describe, expect, test } from 'vitest';
import { configurationOf, errorsOf, warningsOf } from '../../../test/helpers/config-folder.ts';

const log = (id: string, more: object = {}) => ({ id, type: 'notifications_log', ...more });
const router = (id: string, ...outputs: readonly string[]) => ({
  id,
  type: 'router',
  routes: outputs.map(output => ({ filter: 'true', output })),
});
const mail = (id: string, more: object = {}) => ({
  id,
  type: 'smtp',
  host: 'mail.example',
  port: 587,
  smtpUsername: '',
  smtpPassword: '',
  from: 'h@shop.example',
  ...more,
});
const standIn = (defaultId: string) => ({ id: 'default', type: 'default', defaultId });

const given = (targets: readonly object[], notification: object = {}) => ({
  notifications: JSON.stringify({
    targets,
    notifications: [{ id: 'n', condition: 'no-data', conf: { name: 'x' }, ...notification }],
  }),
});

const placeless = (lines: readonly string[]): string[] =>
  lines.map(line => line.replace(/^notifications\.yml:1:\d+: /, ''));
const errors = (...args: Parameters<typeof given>) => placeless(errorsOf(given(...args)));
const warnings = (...args: Parameters<typeof given>) =>
  placeless(warningsOf(given(...args))).filter(line => !/this version/.test(line));

describe('an id that nobody has', () => {
  test('is refused wherever a target is named', () => {
    expect(
      errors([log('logs', { fallback: 'lgos' }), router('r', 'logs', 'nowhere')], {
        targets: ['log'],
        targetConfigs: [{ id: 'r2' }],
      }),
    ).toEqual([
      "target 'lgos' does not exist; did you mean 'logs'? (targets[0].fallback)",
      "target 'nowhere' does not exist (targets[1].routes[1].output)",
      "target 'log' does not exist; did you mean 'logs'? (notifications[0].targets[0])",
      "target 'r2' does not exist; did you mean 'r'? (notifications[0].targetConfigs[0].id)",
    ]);
  });

  test('is sent to what stands in, with a warning', () => {
    const targets = [log('logs'), log('other'), standIn('logs')];
    const notification = { targets: ['gone', 'other', 'default'] };
    expect(warnings(targets, notification)).toEqual([
      "target 'gone' does not exist; 'logs' stands in, as target 'default' says (notifications[0].targets[0])",
    ]);
    const [configured] = configurationOf(given(targets, notification)).notifications;
    expect(configured?.targets).toEqual(['logs', 'other']);
    expect(configured?.settings.targets).toEqual(['gone', 'other', 'default']);
  });

  test('cannot stand in itself, nor can two', () => {
    expect(errors([standIn('gone')])).toEqual(["target 'gone' does not exist (targets[0].defaultId)"]);
    expect(errors([log('a'), standIn('a'), { ...standIn('a'), id: 'second' }])).toEqual([
      "there is a default target already, 'default'; only one can stand in (targets[2].type)",
    ]);
  });
});

describe('targets that lead to each other', () => {
  test.each([
    [
      [router('a', 'b'), router('b', 'a')],
      'targets lead in a circle: a -> b -> a (targets[1].routes[0].output)',
    ],
    [[router('a', 'a')], 'targets lead in a circle: a -> a (targets[0].routes[0].output)'],
    [
      [log('a', { fallback: 'b' }), log('b', { fallback: 'c' }), log('c', { fallback: 'b' })],
      'targets lead in a circle: b -> c -> b (targets[2].fallback)',
    ],
    [[standIn('r'), router('r', 'gone')], 'targets lead in a circle: r -> r (targets[1].routes[0].output)'],
    [[standIn('default')], 'targets lead in a circle: default -> default (targets[0].defaultId)'],
  ])('%j in a circle are refused', (targets, message) => {
    expect(errors(targets)).toEqual([message]);
  });

  test('by a fallback are a circle too, by way of a router and of what stands in as well', () => {
    expect(errors([router('r', 'l'), log('l', { fallback: 'r' })])).toEqual([
      'targets lead in a circle: r -> l -> r (targets[1].fallback)',
    ]);
    expect(errors([standIn('r'), router('r', 'm', 'l'), log('m'), log('l', { fallback: 'gone' })])).toEqual([
      'targets lead in a circle: r -> l -> r (targets[3].fallback)',
    ]);
  });

  test('by a fallback that is a router are taken where nothing leads back', () => {
    expect(errors([router('r', 'm'), log('m'), standIn('r'), log('l', { fallback: 'default' })])).toEqual([]);
    expect(errors([log('l', { fallback: 'r' }), router('r', 's'), router('s', 'm'), log('m')])).toEqual([]);
  });

  test('may meet again, and may follow each other ten in a row, whatever their order in the file', () => {
    expect(errors([router('a', 'b', 'c'), router('b', 'd'), router('c', 'd'), log('d')])).toEqual([]);
    const row = (length: number) =>
      Array.from({ length }, (_, index) =>
        index === length - 1 ? log(`t${index}`) : router(`t${index}`, `t${index + 1}`),
      );
    for (const order of [row(10), row(10).reverse()]) expect(errors(order)).toEqual([]);
    for (const order of [row(11), row(11).reverse(), row(2000)])
      expect(errors(order)).toContainEqual(
        expect.stringContaining('leads on through more than 10 targets in a row'),
      );
  });
});

describe('recipients of mail', () => {
  const to = { conf: { emailRecipient: { to: 'a@b.example' } } };

  test.each([
    [
      [mail('m')],
      ['m'],
      "smtp target 'm' has no recipients; add { id: m, conf: { emailRecipient: { to: … } } } to targetConfigs",
    ],
    [[router('r', 'm'), mail('m')], ['r'], "smtp target 'm' (by r -> m) has no recipients"],
    [[log('l', { fallback: 'm' }), mail('m')], ['l'], "smtp target 'm' (by l -> m) has no recipients"],
    [
      [router('r', 'l'), log('l', { fallback: 'm' }), mail('m')],
      ['r'],
      "smtp target 'm' (by r -> l -> m) has no recipients",
    ],
    [[mail('m'), standIn('m')], ['gone'], "smtp target 'm' (by gone -> m) has no recipients"],
  ])('%j: must be there for %j', (targets, named, message) => {
    const found = errors(targets, { targets: named });
    expect(found).toEqual([expect.stringContaining(message)]);
    expect(found.join()).toMatch(/\(notifications\[0\]\.targets\[0\]\)$/);
    expect(errors(targets, { targets: named, targetConfigs: [{ id: 'm', ...to }] })).toEqual([]);
  });

  test.each([
    [{ conf: {} }, /'emailRecipient' is required/],
    [{ conf: { emailRecipient: {} } }, /'to' is required/],
    [{ conf: { emailRecipient: { to: '' } } }, /must not be empty|must be e-mail addresses/],
    [{ conf: { emailRecipient: { to: 'a@b.example, nobody' } } }, /'nobody' is none/],
    [{ conf: { emailRecipient: { to: 'a@b.example\r\nBcc: c@d.example' } } }, /must be e-mail addresses/],
    [{ conf: { ...to.conf, subject: 'a\nb' } }, /must be at most 998 characters on one line/],
    [{ conf: { ...to.conf, subject: '${statsu}' } }, /unknown variable 'statsu'; did you mean 'status'\?/],
    [
      { conf: { ...to.conf, body: '${timewindow} ${_rwa}' } },
      /unknown variable '_rwa'; did you mean '_raw'\?/,
    ],
    [{ conf: { ...to.conf, html: 'x' } }, /unknown key 'html'/],
  ])('%j is refused', (config, message) => {
    const found = errors([mail('m')], { targets: ['m'], targetConfigs: [{ id: 'm', ...config }] });
    expect(found).toContainEqual(expect.stringMatching(message));
  });

  test('are of no use to other types, and alone deliver nothing', () => {
    expect(errors([log('l')], { targets: ['l'], targetConfigs: [{ id: 'l', ...to }] })).toEqual([
      "conf is for smtp targets only, and 'l' is a notifications_log target; remove conf (notifications[0].targetConfigs[0].conf)",
    ]);
    expect(warnings([mail('m')], { targetConfigs: [{ id: 'm', ...to }] })).toContainEqual(
      "no target of this notification leads to 'm'; an entry here alone delivers nothing (notifications[0].targetConfigs[0].id)",
    );
    expect(
      errors([mail('m')], {
        targetConfigs: [
          { id: 'm', ...to },
          { id: 'm', ...to },
        ],
      }),
    ).toEqual([expect.stringContaining('must be listed once')]);
  });
});

test('a window in which changes are counted needs the number of changes', () => {
  expect(errors([], { flapWindow: '30m' })).toEqual([
    "needs flapThreshold, the number of changes within it that are still notified, such as 4; found '30m' (notifications[0].flapWindow)",
  ]);
});

describe('variables of a message', () => {
  test('include what a flapping alarm has', () => {
    const bell = { id: 'b', type: 'bulletin_message', text: '${flapping} ${changes} ${flaping}' };
    expect(errors([bell], { targets: ['b'], flapThreshold: 4, flapWindow: '30m' })).toEqual([
      "unknown variable 'flaping'; did you mean 'flapping'? (targets[0].text)",
    ]);
  });

  test('are what events have or metadata adds', () => {
    const bell = { id: 'b', type: 'bulletin_message', text: '${sevrity} ${env} ${cribl_host}' };
    const metadata = [{ name: 'env', value: "'x'" }];
    expect(errors([bell], { metadata })).toEqual([
      "unknown variable 'sevrity'; did you mean 'severity'? (targets[0].text)",
    ]);
    expect(errors([{ ...bell, text: '${env}' }])).toEqual(["unknown variable 'env' (targets[0].text)"]);
    const external = { condition: 'monitor-alerts', conf: {}, targets: ['b'] };
    expect(errors([{ ...bell, text: '${whatever_was_posted}' }], external)).toEqual([]);
  });

  test.each([
    ['monitor-alerts', {}],
    ['heartbeat', { name: 'backup' }],
    ['certificate-expiration', {}],
    ['pipeline-unreachable', { name: '*' }],
  ])(
    'are checked whatever notification of %s there is that does not lead to the target',
    (condition, conf) => {
      const bell = { id: 'b', type: 'bulletin_message', text: '${sevrity}' };
      const other = { condition, conf, targets: ['o'] };
      expect(errors([bell, log('o')], other)).toEqual([
        "unknown variable 'sevrity'; did you mean 'severity'? (targets[0].text)",
      ]);
    },
  );

  test('may be any where a router or a fallback leads events from outside to the target', () => {
    const bell = { id: 'b', type: 'bulletin_message', text: '${whatever_was_posted}' };
    const external = { condition: 'heartbeat', conf: { name: 'backup' }, targets: ['r'] };
    expect(errors([bell, router('r', 'o'), log('o', { fallback: 'b' })], external)).toEqual([]);
  });
});

describe('variables of an expression', () => {
  test.each([
    [
      { srcExpression: 'sevrity' },
      {},
      "unknown variable 'sevrity'; did you mean 'severity'? (targets[0].srcExpression)",
    ],
    [
      { customSourceExpression: 'm=${_rw}' },
      {},
      /^unknown variable '_rw'.*\(targets\[0\]\.customSourceExpression\)$/,
    ],
    [{ customPayloadExpression: '`${evnts}`' }, {}, /did you mean 'events'/],
    [
      {},
      { metadata: [{ name: 'a', value: '`${bytess}`' }] },
      /did you mean 'bytes'.*\(notifications\[0\]\.metadata\[0\]\.value\)$/,
    ],
  ])('of %j and %j are known', (more, notification, message) => {
    const hook = { id: 'h', type: 'webhook', url: 'https://hooks.example/x', ...more };
    expect(errors([hook], notification)).toEqual([
      typeof message === 'string' ? message : expect.stringMatching(message),
    ]);
  });

  test.each([
    [{ topicArn: '`arn:${sevrity}`' }, /^unknown variable 'sevrity'; did you mean .*topicArn\)$/],
    [{ messageGroupId: '`${nme}`' }, /^unknown variable 'nme'.*messageGroupId\)$/],
  ])('of an sns target: %j', (more, message) => {
    const topic = {
      ...{ id: 't', type: 'sns', region: 'eu-west-1', destinationType: 'topic', topicType: 'fifo' },
      ...{ topicArn: 'arn:aws:sns:eu-west-1:1:a.fifo', messageGroupId: 'team', ...more },
    };
    expect(errors([topic], {})).toEqual([expect.stringMatching(message)]);
  });

  test('are tried on an event of each condition, and what fails there is warned of', () => {
    const hook = { id: 'h', type: 'webhook', url: 'https://hooks.example/x' };
    const metadata = [
      { name: 'env', value: "'prod'" },
      { name: 'where', value: 'output.trim()' },
    ];
    expect(warnings([{ ...hook, srcExpression: 'env.at(0) + bytes.trim()' }], { metadata })).toEqual([
      "fails on an event of 'no-data': a value of type number has no 'trim' (targets[0].srcExpression)",
      "fails on an event of 'no-data': what is missing has no 'trim' (notifications[0].metadata[1].value)",
    ]);
    expect(
      warnings([{ ...hook, srcExpression: 'env.at(0) + input.trim()' }], { metadata: metadata.slice(0, 1) }),
    ).toEqual([]);
  });

  test.each([
    [
      { customPayloadExpression: 'events.length.trim()' },
      /^fails on .*has no 'trim'.*customPayloadExpression/,
    ],
    [
      { customPayloadExpression: 'null' },
      /^fails on .*gives nothing \(targets\[0\]\.customPayloadExpression/,
    ],
    [{ srcExpression: '`${__worker_group.trim()}`' }, /what is missing has no 'trim'/],
    [{ customPayloadExpression: '{"items":[${events}]}' }, undefined],
  ])('of the body are tried: %j', (more, message) => {
    const hook = { id: 'h', type: 'webhook', url: 'https://hooks.example/x', format: 'custom', ...more };
    expect(warnings([hook], {})).toEqual(message === undefined ? [] : [expect.stringMatching(message)]);
  });

  test.each([
    ['{"t": ${_raw}}', ['_raw']],
    ['{"t": ${_raw}, "n": ${bytes}, "i": "${incidentId}", "s": ${severity}}', ['_raw', 'severity']],
    ['[${_raw}]', ['_raw']],
    ['\'{"t":"\' + _raw + \'"}\'', ['_raw']],
    ['{"t": "${_raw}"}', []],
    ['{"t": ${json(_raw)}, "n": ${bytes}, "l": ${_raw.split(",")}}', []],
    ['{"n": ${severity === "warn" ? 1 : 0}, "all": ${{ raw: _raw }}}', []],
    ['{ raw: _raw }', []],
    ['`${status}: ${_raw}`', []],
    ['{ ${_raw} }', []],
  ])('of JSON are tried with texts that would add members to it: %s', (srcExpression, names) => {
    const hook = { id: 'h', type: 'webhook', url: 'https://hooks.example/x', srcExpression };
    const found = warnings([hook], {});
    for (const name of names)
      expect(found).toContainEqual(
        expect.stringMatching(
          `^the text of '${name}' is not escaped .*json\\(${name}\\).*targets\\[0\\].srcExpression`,
        ),
      );
    expect(found).toHaveLength(names.length);
    expect(warnings([{ ...hook, format: 'json_array' }], {})).toEqual([]);
  });

  test.each([
    [
      { topicArn: '`topic-${severity}`' },
      /^fails on .*'topic-warn' is no ARN of a topic \(targets\[0\]\.topicArn/,
    ],
    [{ messageGroupId: 'bytes.trim()' }, /^fails on .*has no 'trim' \(targets\[0\]\.messageGroupId/],
    [{ messageGroupId: 'output ? "a" : ""' }, /gives no text for this event/],
    [{ messageGroupId: '`${severity}`' }, undefined],
  ])('of an sns target are tried: %j', (more, message) => {
    const topic = {
      ...{ id: 't', type: 'sns', region: 'eu-west-1', destinationType: 'topic', topicType: 'fifo' },
      ...{ topicArn: 'arn:aws:sns:eu-west-1:1:a.fifo', messageGroupId: 'team', ...more },
    };
    expect(warnings([topic], {})).toEqual(message === undefined ? [] : [expect.stringMatching(message)]);
  });

  test('are known where the pipeline can be named, and not where it is left behind', () => {
    const metadata = [{ name: 'from', value: '`${__pipeline}`' }];
    const bell = { id: 'b', type: 'bulletin_message', message: '${_raw} of ${__pipeline}' };
    expect(errors([bell], { metadata, groupBy: ['__pipeline'] })).toEqual([]);
    const hook = { id: 'h', type: 'webhook', url: 'https://hooks.example/x', srcExpression: '__pipeline' };
    expect(errors([hook], {})).toEqual([expect.stringMatching(/^unknown variable '__pipeline'/)]);
  });

  test('are the fields that metadata adds, too', () => {
    const hook = { id: 'h', type: 'webhook', url: 'https://hooks.example/x', srcExpression: 'env' };
    expect(errors([hook], { metadata: [{ name: 'env', value: "'prod'" }] })).toEqual([]);
  });
});

describe('an address nothing is sent to', () => {
  const settings = 'delivery: { privateAddresses: refuse, allowedAddresses: [10.0.0.0/8] }';
  const hook = (url: string) => ({ id: 'h', type: 'webhook', url });

  test.each([
    [hook('http://169.254.169.254/latest'), '', /169\.254\.169\.254 is a link-local.*\(targets\[0\]\.url\)$/],
    [hook('http://[fe80::1]/'), '', /fe80::1 is a link-local/],
    [hook('http://127.0.0.1/'), settings, /127\.0\.0\.1 is an address that is not public/],
    [mail('m', { host: '192.168.1.1' }), settings, /192\.168\.1\.1 is .*\(targets\[0\]\.host\)$/],
    [
      { id: 's', type: 'slack', url: 'http://127.0.0.1/key' },
      settings,
      /127\.0\.0\.1 is .*\(targets\[0\]\.url\)$/,
    ],
  ])('%j is warned of', (target, headgate, message) => {
    const found = placeless(warningsOf({ ...given([target]), settings: headgate }));
    expect(found).toContainEqual(expect.stringMatching(message));
    expect(found.join()).not.toContain('/key');
  });

  test('is no name, no public address and none that is allowed', () => {
    for (const url of ['http://localhost/', 'http://8.8.8.8/', 'http://10.1.2.3/'])
      expect(warningsOf({ ...given([hook(url)]), settings })).toEqual([]);
  });
});
