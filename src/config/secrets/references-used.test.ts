import { expect, test } from 'vitest';
import type { RawItems } from '../configuration.ts';
import { assertUnused } from './references.ts';

const raw: RawItems = {
  settings: {
    instance: { name: '${secret:hook} in a text' },
    pipelines: [{ id: 'a' }, { id: 'b', token: '${secret:hook}' }],
    'odd key': '${secret:other}',
  },
  targets: new Map<string, Record<string, unknown>>([
    ['one', { id: 'one', token: '${secret:hook}', headers: [{ name: 'x', value: '${secret:hook}' }] }],
    ['two', { id: 'two', token: '${secret:hook2}', password: '${env:hook}', url: '${secret: hook}' }],
    ...Array.from({ length: 12 }, (_, index): [string, Record<string, unknown>] => [
      `t${index}`,
      { token: '${secret:all}' },
    ]),
  ]),
  notifications: new Map([['n', { id: 'n', description: '${secret:free}' }]]),
  inhibitions: new Map(),
  inputs: new Map(),
  outputs: new Map(),
};

test.each([
  ['hook', "headgate.yml (pipelines[1].token), target 'one' (token), target 'one' (headers[0].value);"],
  ['hook2', "target 'two' (token);"],
  ['other', 'headgate.yml (["odd key"]);'],
  ['all', "target 't9' (token) and 2 more;"],
])('a secret is in use where it is the whole of a value: %s', (name, places) => {
  expect(() => assertUnused(raw, name)).toThrow(
    expect.objectContaining({ code: 'conflict', message: expect.stringContaining(places) }),
  );
});

test.each(['hoo', 'free', ''])(
  'a secret is not in use because of a text that only looks like it: %j',
  name => {
    expect(() => assertUnused(raw, name)).not.toThrow();
  },
);
