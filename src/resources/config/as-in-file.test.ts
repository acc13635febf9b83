import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainCopy } from '../../config/plain.ts';
import type { Schema } from '../../config/schema-walk.ts';
import { settingsSchema } from '../../config/settings.ts';
import { findTargetType } from '../../targets/index.ts';
import { asInFile } from './as-in-file.ts';

function typeOf(name: string) {
  const type = findTargetType(name);
  if (type === undefined) throw new Error(`there is no type ${name}`);
  return type;
}

const webhook = typeOf('webhook');
const inForce = (raw: object) => plainCopy(webhook.configure(raw).settings);

/** What the file holds after a write over `inFile`. */
const written = (inFile: object | undefined, value: object) =>
  asInFile(webhook.schema, plainCopy(value), { inFile, inForce: inFile && inForce(inFile) });

const HOOK = { id: 'hook', type: 'webhook', url: 'https://a.example/' };

describe('what the file shall hold', () => {
  it('leaves out what is the default, and keeps it where the file says it', () => {
    expect(written(undefined, { ...HOOK, method: 'POST', compress: true })).toEqual({
      ...HOOK,
      compress: true,
    });
    expect(written({ ...HOOK, method: 'POST' }, { ...HOOK, method: 'POST', compress: false })).toEqual({
      ...HOOK,
      method: 'POST',
    });
  });

  it('says a default where another value was said before', () => {
    expect(written({ ...HOOK, method: 'PUT' }, { ...HOOK, method: 'POST' })).toEqual({
      ...HOOK,
      method: 'POST',
    });
  });

  it('keeps the form a value has in the file', () => {
    const inFile = { ...HOOK, authType: 'token', token: 'in-clear-text' };
    expect(written(inFile, inForce(inFile))).toEqual(inFile);
  });

  it('keeps the name a key has in the file', () => {
    const { schema } = typeOf('bulletin_message');
    const before = { inFile: { id: 'b', type: 'bulletin_message', text: 'old' }, inForce: {} };
    expect(asInFile(schema, { id: 'b', type: 'bulletin_message', message: 'new' }, before)).toEqual({
      id: 'b',
      type: 'bulletin_message',
      text: 'new',
    });
  });

  it('knows items of a list by what they are called', () => {
    const inFile = {
      ...HOOK,
      extraHttpHeaders: [
        { name: 'a', value: 'one' },
        { name: 'b', value: 'two' },
      ],
    };
    const [first, second] = [
      { name: 'a', value: '********' },
      { name: 'b', value: '********' },
    ];
    expect(written(inFile, { ...HOOK, extraHttpHeaders: [second, first] })).toEqual({
      ...HOOK,
      extraHttpHeaders: [
        { name: 'b', value: 'two' },
        { name: 'a', value: 'one' },
      ],
    });
  });

  it('leaves out maps that say nothing new, and lists of pipelines as they are', () => {
    const settings = settingsSchema.parse({});
    const all = plainCopy(settings);
    expect(asInFile(settingsSchema, all, { inFile: {}, inForce: all })).toEqual({});
    const api = { ...plainCopy(settings.api), port: 1 };
    expect(asInFile(settingsSchema, { ...all, api }, { inFile: {}, inForce: all })).toEqual({
      api: { port: 1 },
    });
  });

  it('means the same as the value, whatever stood there before', () => {
    const schema: Schema = webhook.schema;
    fc.assert(
      fc.property(hook, hook, (before, after) => {
        const file = asInFile(schema, plainCopy(after), { inFile: before, inForce: inForce(before) });
        expect(inForce(file)).toEqual(inForce(after));
        const again = asInFile(schema, inForce(file), { inFile: file, inForce: inForce(file) });
        expect(again).toEqual(file);
      }),
    );
  });
});

const backoff = {
  initialBackoff: fc.constantFrom(1000, 2000),
  maxBackoff: fc.constantFrom(10_000, 20_000),
};

const hook = fc.record(
  {
    id: fc.constant('hook'),
    type: fc.constant('webhook'),
    url: fc.constantFrom('https://a.example/', 'https://b.example/'),
    method: fc.constantFrom('POST', 'PUT'),
    compress: fc.boolean(),
    description: fc.constantFrom('one', 'two'),
    systemFields: fc.constantFrom(['cribl_host'], [], ['cribl_wp']),
    responseRetrySettings: fc.uniqueArray(
      fc.record({ httpStatus: fc.constantFrom(429, 500, 503), ...backoff }, { requiredKeys: ['httpStatus'] }),
      { selector: ({ httpStatus }) => httpStatus },
    ),
    timeoutRetrySettings: fc.record({ timeoutRetry: fc.boolean(), ...backoff }, { requiredKeys: [] }),
  },
  { requiredKeys: ['id', 'type', 'url'] },
);
