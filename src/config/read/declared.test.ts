import { describe, expect, it } from 'vitest';
import { configurationOf, errorsOf } from '../../../test/helpers/config-folder.ts';
import { effectiveText } from '../check-files.ts';

describe('declared components', () => {
  it('need no file', () => {
    const { inputs, outputs, raw } = configurationOf({});
    expect(inputs).toEqual([]);
    expect(outputs).toEqual([]);
    expect(raw.inputs.size + raw.outputs.size).toBe(0);
  });

  it.each([
    ['a list', 'inputs:\n  - { id: app, type: syslog, tcpPort: 514, pq: { mode: always } }\n'],
    ['a map by id', 'inputs:\n  app: { type: syslog, tcpPort: 514, pq: { mode: always } }\n'],
  ])('are read from %s, and what is not known of them is kept', (_, inputs) => {
    expect(configurationOf({ inputs }).inputs).toEqual([
      {
        kind: 'input',
        id: 'app',
        type: 'syslog',
        disabled: false,
        group: 'default',
        value: { id: 'app', type: 'syslog', tcpPort: 514, pq: { mode: 'always' } },
      },
    ]);
  });

  it('say whether they are disabled and in which group they are', () => {
    const { outputs } = configurationOf({
      outputs: 'outputs: [{ id: lake, type: s3, disabled: true, group: edge }]',
    });
    expect(outputs).toMatchObject([{ kind: 'output', id: 'lake', disabled: true, group: 'edge' }]);
  });

  it.each([
    ['a type', 'inputs: [{ id: a }]', "inputs.yml:1:10: 'type' is required (inputs[0].type)"],
    ['an id', 'inputs: [{ type: syslog }]', "inputs.yml:1:10: 'id' is required (inputs[0].id)"],
    [
      'an id of their own',
      'inputs:\n  - { id: a, type: syslog }\n  - { id: a, type: http }',
      "inputs.yml:3:11: the id 'a' is already that of inputs[0], line 2; ids are unique (inputs[1].id)",
    ],
    [
      'a group that is an id',
      'inputs: [{ id: a, type: b, group: "x y" }]',
      /^inputs.yml:1:35: must be 1 to 512 letters.*\(inputs\[0\]\.group\)$/,
    ],
  ])('must have %s', (_, inputs, expected) => {
    expect(errorsOf({ inputs })).toEqual([
      typeof expected === 'string' ? expected : expect.stringMatching(expected),
    ]);
  });

  it('show in the effective configuration with their defaults', () => {
    const text = effectiveText(configurationOf({ inputs: 'inputs: [{ id: a, type: b, port: 1 }]' }), 'yaml');
    expect(text).toContain(
      'inputs.yml:\n  inputs:\n    - id: a\n      type: b\n      port: 1\n      disabled: false\n      group: default',
    );
    expect(text).not.toContain('outputs.yml');
  });

  it('have a file each, which holds nothing else', () => {
    expect(errorsOf({ outputs: 'inputs: []' })).toEqual([
      "outputs.yml:1:1: unknown key 'inputs'. Allowed: outputs (inputs)",
    ]);
  });
});

describe('the items as they stand in the files', () => {
  it('keep references, leave defaults out and have their id, whatever the style', () => {
    const { raw } = configurationOf({
      settings: 'instance: { name: one }',
      notifications: [
        'targets:',
        "  hook: { type: webhook, url: 'http://h/', authType: token, token: '${env:TOKEN}' }",
        'notifications:',
        "  - { id: silent, condition: no-data, targets: [hook], conf: { name: 'a:b' } }",
      ].join('\n'),
      environment: { TOKEN: 'hidden' },
    });
    expect(raw.settings).toEqual({ instance: { name: 'one' } });
    expect([...raw.targets]).toEqual([
      ['hook', { id: 'hook', type: 'webhook', url: 'http://h/', authType: 'token', token: '${env:TOKEN}' }],
    ]);
    expect([...raw.notifications.keys()]).toEqual(['silent']);
    expect(Object.isFrozen(raw.targets.get('hook'))).toBe(true);
  });
});
