import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainCopy } from '../config/plain.ts';
import type { Schema } from '../config/schema-walk.ts';
import { settingsSchema } from '../config/settings.ts';
import { findTargetType } from '../targets/index.ts';
import { mergePatch, toFileForm } from './patch.ts';

describe('merging a patch', () => {
  // RFC 7396, appendix A, as far as patches are maps.
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('of %j by %j gives %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  it('changes neither', () => {
    const target = Object.freeze({ a: Object.freeze({ b: 1 }) });
    expect(mergePatch(target, { a: { b: 2 } })).toEqual({ a: { b: 2 } });
    expect(target).toEqual({ a: { b: 1 } });
  });
});

function typeOf(name: string) {
  const type = findTargetType(name);
  if (type === undefined) throw new Error(`there is no type ${name}`);
  return type;
}

const webhook = typeOf('webhook');
const effective = (raw: object) => plainCopy(webhook.configure(raw).settings);

/** What the file holds after a write over `inFile`. */
const written = (inFile: object | undefined, value: object) =>
  toFileForm(webhook.schema, plainCopy(value), { inFile, effective: inFile && effective(inFile) });

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

  it('says a default where something else holds without it, as the operator of a service decides', () => {
    const settings = settingsSchema.parse({});
    const decided = { ...settings.delivery, privateAddresses: 'refuse' };
    const effective = plainCopy({ ...settings, delivery: decided });
    const chosen = plainCopy({ ...settings, delivery: { ...decided, privateAddresses: 'allow' } });
    const before = { inFile: {}, effective };
    expect(toFileForm(settingsSchema, chosen, before)).toEqual({ delivery: { privateAddresses: 'allow' } });
    expect(toFileForm(settingsSchema, effective, before)).toEqual({});
  });

  it('keeps the form a value has in the file', () => {
    const inFile = { ...HOOK, authType: 'token', token: 'in-clear-text' };
    expect(written(inFile, effective(inFile))).toEqual(inFile);
  });

  it('keeps the name a key has in the file', () => {
    const { schema } = typeOf('bulletin_message');
    const before = { inFile: { id: 'b', type: 'bulletin_message', text: 'old' }, effective: {} };
    expect(toFileForm(schema, { id: 'b', type: 'bulletin_message', message: 'new' }, before)).toEqual({
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
    expect(toFileForm(settingsSchema, all, { inFile: {}, effective: all })).toEqual({});
    const api = { ...plainCopy(settings.api), port: 1 };
    expect(toFileForm(settingsSchema, { ...all, api }, { inFile: {}, effective: all })).toEqual({
      api: { port: 1 },
    });
  });

  it('means the same as the value, whatever stood there before', () => {
    const schema: Schema = webhook.schema;
    fc.assert(
      fc.property(hook, hook, (before, after) => {
        const file = toFileForm(schema, plainCopy(after), { inFile: before, effective: effective(before) });
        expect(effective(file)).toEqual(effective(after));
        const again = toFileForm(schema, effective(file), { inFile: file, effective: effective(file) });
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
