import { describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import { findTargetType } from '../../targets/index.ts';
import type { PlainMap } from '../plain.ts';
import { settingsSchema } from '../settings.ts';
import { applySecretRules, type SecretWrite } from './rules.ts';

const MASK = '********';
const URL_A = 'https://a.example/';
const URL_B = 'https://b.example/';

const schemaOf = (type: string) => {
  const schema = findTargetType(type)?.schema;
  if (schema === undefined) throw new Error(`there is no type ${type}`);
  return schema;
};

const HELD: PlainMap = { id: 'h', type: 'webhook', url: URL_A, authType: 'token', token: '${secret:t}' };
const FORCE: PlainMap = { ...HELD, token: MASK };

/** A write over the target above, by somebody who may not set secrets. */
function rule(item: PlainMap, extra: Partial<SecretWrite> = {}) {
  const { value, secrets } = applySecretRules({
    schema: schemaOf('webhook'),
    owner: ['target', 'h'],
    isUsedElsewhere: () => false,
    item,
    inFile: HELD,
    effective: FORCE,
    mayRefer: false,
    ...extra,
  });
  return { value, secrets };
}

function refusal(item: PlainMap, extra: Partial<SecretWrite> = {}) {
  try {
    rule(item, extra);
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, path: error.problems?.[0]?.path };
    throw error;
  }
  return undefined;
}

describe('a mask', () => {
  it.each([
    ['a reference', '${secret:t}'],
    ['a reference to the environment', '${env:T}'],
    ['a text in clear', 'typed by hand'],
  ])('keeps %s', (_, token) => {
    const inFile = { ...HELD, token };
    expect(rule({ ...FORCE, method: 'PUT' }, { inFile })).toEqual({
      value: { ...HELD, token, method: 'PUT' },
      secrets: [],
    });
  });

  it('is refused where nothing is stored', () => {
    const { token: _, ...open } = HELD;
    expect(refusal(FORCE, { inFile: open, effective: open })).toEqual({
      code: 'unprocessable',
      path: 'token',
    });
    expect(refusal(FORCE, { inFile: undefined, effective: undefined })).toMatchObject({
      code: 'unprocessable',
    });
  });

  it('is a text like any other where no secret is', () => {
    expect(rule({ ...FORCE, description: MASK }).value).toMatchObject({ description: MASK });
  });
});

describe('a text', () => {
  it('goes to the store, under the name of its place', () => {
    expect(rule({ ...FORCE, token: 'new' })).toEqual({
      value: { ...HELD, token: '${secret:target_h_token}' },
      secrets: [{ name: 'target_h_token', value: 'new' }],
    });
  });

  it('takes the name it had when that was its own', () => {
    const inFile = { ...HELD, token: '${secret:target_h_token-2}' };
    expect(rule({ ...FORCE, token: 'new' }, { inFile }).secrets).toEqual([
      { name: 'target_h_token-2', value: 'new' },
    ]);
  });

  it('never takes the name of another secret of the item', () => {
    const inFile = { ...HELD, password: '${secret:target_h_token}' };
    const effective = { ...FORCE, password: MASK };
    expect(rule({ ...effective, token: 'new' }, { inFile, effective })).toMatchObject({
      value: { token: '${secret:target_h_token-2}', password: '${secret:target_h_token}' },
    });
  });

  it('in a list is named by its item, and kept by it', () => {
    /** A name that had to be changed is told apart by a digest. */
    const CUT = /^\$\{secret:target_h_extraHttpHeaders_X_Key__value-[0-9a-f]{24}\}$/;
    const header = (name: string, value: string) => ({ name, value });
    const inFile = { ...HELD, extraHttpHeaders: [header('A', '${secret:a}'), header('B', '${secret:b}')] };
    const effective = { ...FORCE, extraHttpHeaders: [header('A', MASK), header('B', MASK)] };
    const sent = [header('X-Key!', 'new'), header('B', MASK)];
    expect(rule({ ...FORCE, extraHttpHeaders: sent }, { inFile, effective })).toMatchObject({
      value: { extraHttpHeaders: [{ value: expect.stringMatching(CUT) }, { value: '${secret:b}' }] },
    });
    expect(refusal({ ...FORCE, extraHttpHeaders: [header('C', MASK)] }, { inFile, effective })).toEqual({
      code: 'unprocessable',
      path: 'extraHttpHeaders[0].value',
    });
  });

  it('that is empty stays empty', () => {
    expect(rule({ ...FORCE, token: '' })).toMatchObject({ value: { token: '' }, secrets: [] });
  });

  it('has a name of bounded length, whatever the id', () => {
    const [secret] = rule({ ...FORCE, token: 'new' }, { owner: ['target', 'x'.repeat(512)] }).secrets;
    expect(secret?.name).toMatch(/^target_x+-[0-9a-f]{24}$/);
    expect(secret?.name.length).toBeLessThanOrEqual(128);
  });
});

describe('a reference', () => {
  it.each(['${env:HOME}', '${file:/etc/passwd}'])('to the surroundings is refused: %s', text => {
    for (const mayRefer of [true, false]) {
      expect(refusal({ ...FORCE, token: text }, { mayRefer })).toEqual({
        code: 'invalid-request',
        path: 'token',
      });
      expect(refusal({ ...FORCE, description: text }, { mayRefer })).toMatchObject({ path: 'description' });
    }
  });

  it('may be the one the field has, and another only for who may set secrets', () => {
    expect(rule({ ...FORCE, token: '${secret:t}' }).value).toEqual(HELD);
    const other = { ...FORCE, token: '${secret:other}' };
    expect(refusal(other)).toEqual({ code: 'forbidden', path: 'token' });
    expect(rule(other, { mayRefer: true }).value).toMatchObject({ token: '${secret:other}' });
  });

  it('is no way to show a secret where it can be read', () => {
    expect(refusal({ ...FORCE, description: '${secret:t}' })).toEqual({
      code: 'forbidden',
      path: 'description',
    });
  });

  it('belongs to a template where there is one', () => {
    const item = { ...FORCE, srcExpression: '${env:HOME}' };
    expect(rule(item).value).toMatchObject({ srcExpression: '${env:HOME}' });
  });
});

describe('another destination', () => {
  it.each([
    ['the mask', MASK],
    ['the reference the field has', '${secret:t}'],
  ])('does not get a secret by %s', (_, token) => {
    for (const mayRefer of [true, false])
      expect(refusal({ ...FORCE, url: URL_B, token }, { mayRefer })).toEqual({
        code: 'unprocessable',
        path: 'token',
      });
  });

  it('gets one that is sent anew, or none', () => {
    expect(rule({ ...FORCE, url: URL_B, token: 'new' }).secrets).toHaveLength(1);
    const { token: _, ...open } = HELD;
    expect(rule({ ...open, url: URL_B }).value).toEqual({ ...open, url: URL_B });
  });

  it('is found by the effective content, not by the content of the file', () => {
    const inFile = { ...HELD, url: '${env:WHERE}' };
    expect(rule({ ...FORCE }, { inFile }).value).toMatchObject({ token: '${secret:t}' });
    expect(refusal({ ...FORCE, url: URL_B }, { inFile })).toMatchObject({ code: 'unprocessable' });
  });

  it('may come from a default that takes the place of what was said', () => {
    const schema = schemaOf('smtp');
    const inFile = {
      id: 'm',
      type: 'smtp',
      host: 'h',
      port: 587,
      from: 'a@b.example',
      smtpUsername: 'u',
      smtpPassword: '${secret:p}',
    };
    const effective = { ...inFile, smtpPassword: MASK };
    const { port: _, ...rest } = effective;
    expect(rule(effective, { schema, inFile, effective }).secrets).toEqual([]);
    expect(refusal({ ...effective, host: 'thief' }, { schema, inFile, effective })).toMatchObject({
      path: 'smtpPassword',
    });
    expect(refusal(rest, { schema, inFile, effective })).toMatchObject({ path: 'smtpPassword' });
  });

  it('of one pipeline says nothing of the others', () => {
    const pipeline = (id: string, url: string, token: string) => ({ id, engine: 'vector', url, token });
    const inFile = { pipelines: [pipeline('a', URL_A, '${secret:a}'), pipeline('b', URL_A, '${secret:b}')] };
    const effective = { pipelines: [pipeline('a', URL_A, MASK), pipeline('b', URL_A, MASK)] };
    const write = { schema: settingsSchema, owner: ['settings'], inFile, effective };
    const item = { pipelines: [pipeline('b', URL_A, MASK), pipeline('a', URL_B, 'anew-and-long')] };
    expect(rule(item, write)).toEqual({
      value: {
        pipelines: [inFile.pipelines[1], pipeline('a', URL_B, '${secret:settings_pipelines_a_token}')],
      },
      secrets: [{ name: 'settings_pipelines_a_token', value: 'anew-and-long' }],
    });
    expect(refusal({ pipelines: [pipeline('a', URL_B, MASK)] }, write)).toEqual({
      code: 'unprocessable',
      path: 'pipelines[0].token',
    });
  });
});

describe('an address with a secret in it', () => {
  it('is kept by the mask that shows it, and by no other', () => {
    const inFile = { storage: { url: 'postgres://u:hunter2@db/h' } };
    const effective = { storage: { url: `postgres://u:${MASK}@db/h` } };
    const write = { schema: settingsSchema, owner: ['settings'], inFile, effective };
    expect(rule(effective, write)).toEqual({ value: inFile, secrets: [] });
    expect(refusal({ storage: { url: `postgres://u:${MASK}@thief/h` } }, write)).toEqual({
      code: 'unprocessable',
      path: 'storage.url',
    });
    expect(rule({ storage: { url: 'postgres://u:new@db/h' } }, write)).toEqual({
      value: { storage: { url: '${secret:settings_storage_url}' } },
      secrets: [{ name: 'settings_storage_url', value: 'postgres://u:new@db/h' }],
    });
    expect(rule({ storage: { url: 'sqlite:other.db' } }, write).value).toEqual({
      storage: { url: 'sqlite:other.db' },
    });
  });
});

describe('an address that is the secret itself', () => {
  const schema = schemaOf('slack');
  const inFile = { id: 's', type: 'slack', url: '${secret:s}' };
  const effective = { id: 's', type: 'slack', slackUrl: `https://hooks.example/${MASK}` };

  it.each(['slackUrl', 'url'])('is kept and replaced under either of its names: %s', key => {
    const base = { id: 's', type: 'slack' };
    const write = { schema, owner: ['target', 's'], inFile, effective };
    expect(rule({ ...base, [key]: `https://hooks.example/${MASK}` }, write)).toEqual({
      value: { ...base, [key]: '${secret:s}' },
      secrets: [],
    });
    expect(refusal({ ...base, [key]: `https://other.example/${MASK}` }, write)).toMatchObject({ path: key });
    expect(rule({ ...base, [key]: 'https://hooks.example/new' }, write).secrets).toEqual([
      { name: 'target_s_slackUrl', value: 'https://hooks.example/new' },
    ]);
  });
});
