import { expect, test } from 'vitest';
import * as z from 'zod';
import { aliasesOf } from '../lib/aliases.ts';
import { EACH, type SettingPath, settingsAt } from './declarations.ts';
import { findTargetType, targetTypes } from './index.ts';

test('a type is found by its name in the file, and an unknown one is not', () => {
  for (const type of targetTypes) expect(findTargetType(type.type)).toBe(type);
  expect(findTargetType('webhook')?.type).toBe('webhook');
  expect(findTargetType('carrier_pigeon')).toBeUndefined();
});

/** The required settings of each type. */
const NEEDED: Readonly<Record<string, object>> = {
  webhook: { url: 'http://x.example/' },
  slack: { slackUrl: 'https://hooks.slack.com/services/T0/B0/key' },
  pager_duty: { routingKey: 'k', severity: 'error' },
  sns: {
    region: 'eu-west-1',
    destinationType: 'topic',
    topicArn: 'arn:aws:sns:eu-west-1:1:t',
    messageGroupId: '',
  },
  smtp: { host: 'mail.example', port: 587, smtpUsername: '', smtpPassword: '', from: 'a@b.example' },
  router: { routes: [{ filter: 'true', output: 'x' }] },
  default: { defaultId: 'x' },
};

test('every type accepts the common settings and refuses unknown ones', () => {
  for (const type of targetTypes) {
    const common = { description: 'why', systemFields: ['c*'], fallback: 'other', onBackpressure: 'queue' };
    const raw = { id: 'a', type: type.type, ...common, pacing: '2/second', ...NEEDED[type.type] };
    expect(type.configure(raw).settings).toMatchObject({ id: 'a', type: type.type, ...common });
    expect(type.schema.safeParse({ ...raw, nonsense: 1 }).success).toBe(false);
  }
});

/** Reads the map of settings from a type's schema. */
function fieldsOf(schema: z.ZodType): z.ZodObject {
  const map = schema instanceof z.ZodPipe ? schema.out : schema;
  if (map instanceof z.ZodObject) return map;
  throw new Error('a target type reads a map of settings');
}

const firstSteps = (paths: readonly SettingPath[]): unknown[] => paths.map(([step]) => step);

test('every type declares the settings that its schema marks as templates, and no others', () => {
  for (const type of targetTypes) {
    const marked = Object.entries(fieldsOf(type.schema).shape).flatMap(([key, field]) =>
      ['template', 'places'].some(mark => z.globalRegistry.get(field)?.[mark] === true) ? [key] : [],
    );
    expect([type.type, firstSteps(type.templates.map(({ path }) => path))]).toEqual([type.type, marked]);
  }
});

test('a template is checked against fields, and its schema reports a broken one', () => {
  for (const { templates } of targetTypes)
    for (const template of templates) {
      expect(template.compile('`${')).toBeUndefined();
      expect(template.compile('`${status}`')?.names ?? ['status']).toContain('status');
    }
});

test('every alias that answers show is read as well', () => {
  for (const { aliases = {}, schema } of targetTypes)
    expect(Object.fromEntries(aliasesOf(fieldsOf(schema)))).toMatchObject(aliases);
});

/** Stays in the folder that the process gives. */
const CONFINED = ['logsDir'];

test('every setting that names a file or folder is declared', () => {
  for (const type of targetTypes) {
    const named = Object.entries(fieldsOf(type.schema).shape).flatMap(([key, field]) =>
      z.globalRegistry.get(field)?.file === true || /(path|file|files|dir|folder)$/i.test(key) ? [key] : [],
    );
    const given = Object.fromEntries(named.map(key => [key, 'below']));
    const target = type.configure({ id: 'a', type: type.type, ...NEEDED[type.type], ...given });
    expect([type.type, target.processUses.flatMap(({ path }) => path)]).toEqual([
      type.type,
      expect.arrayContaining(named.filter(key => !CONFINED.includes(key))),
    ]);
  }
});

test('a type refers to its fallback and to the targets its own settings name, in invalid settings as well', () => {
  const references = (type: string, settings: object) =>
    findTargetType(type)
      ?.references(settings)
      .map(({ id, path, isRequired }) => [id, path.join('.'), isRequired]);
  for (const { type } of targetTypes)
    expect(references(type, { fallback: 'other', nonsense: 1 })).toEqual([['other', 'fallback', false]]);
  expect(references('router', { routes: [{ output: 'a' }, 7, { output: null }, { output: 'b' }] })).toEqual([
    ['a', 'routes.0.output', false],
    ['b', 'routes.3.output', false],
  ]);
  expect(references('default', { fallback: 'other', defaultId: 'a' })).toEqual([
    ['other', 'fallback', false],
    ['a', 'defaultId', true],
  ]);
});

test('a path finds nothing where the settings have another shape', () => {
  const at = (settings: unknown) => settingsAt(settings, ['list', EACH, 'name']).map(({ value }) => value);
  expect(at({ list: [{ name: 1 }, { name: 2 }] })).toEqual([1, 2]);
  for (const settings of [
    undefined,
    null,
    'text',
    {},
    { list: null },
    { list: { name: 1 } },
    { list: ['name'] },
  ])
    expect(at(settings)).toEqual([]);
});

const AWS_KEYS = { awsApiKey: 'AKIA0000000000000000', awsSecretKey: 's' };

test.each([
  [{}, true],
  [{ awsAuthenticationMethod: 'auto', enableAssumeRole: true, assumeRoleArn: `arn:${'x'.repeat(20)}` }, true],
  [{ awsAuthenticationMethod: 'manual' }, true],
  [{ awsAuthenticationMethod: 'manual', ...AWS_KEYS }, false],
  [{ awsAuthenticationMethod: 'secret', awsSecret: 'aws' }, false],
])('an sns target with %j uses the identity of the process: %s', (settings, expected) => {
  const target = findTargetType('sns')?.configure({ id: 'a', type: 'sns', ...NEEDED.sns, ...settings });
  expect(target?.processUses.length).toBe(expected ? 1 : 0);
});

test('no other type uses the identity of the process', () => {
  for (const type of targetTypes.filter(one => one.type !== 'sns'))
    expect(type.configure({ id: 'a', type: type.type, ...NEEDED[type.type] }).processUses).toEqual([]);
});

test('mail alone needs recipients of each notification', () => {
  expect(targetTypes.filter(type => type.needsRecipients).map(({ type }) => type)).toEqual(['smtp']);
});

/** A proxy is on the way, and no place. */
const ON_THE_WAY = ['proxyUrl'];
/** Settings by which a type keeps alarms open, and another value of each of those that say where. */
const OPEN: Readonly<Record<string, { readonly more: object; readonly others: object }>> = {
  webhook: {
    more: { preset: 'statuspage', resolveUrl: 'http://x.example/close' },
    others: {
      ...{ url: 'http://y.example/', resolveUrl: 'http://y.example/close', preset: 'alertmanager' },
      options: { status: 'partial_outage' },
    },
  },
  pager_duty: { more: {}, others: { url: 'http://y.example/', routingKey: 'k2' } },
};

test('a type that keeps alarms open says which settings decide where, and all that lead there are among them', () => {
  for (const type of targetTypes) {
    const keepsOpen = OPEN[type.type];
    const raw = { id: 'a', type: type.type, ...NEEDED[type.type], ...keepsOpen?.more };
    const target = type.configure(raw);
    expect([type.type, target.keepsOpen === true]).toEqual([type.type, keepsOpen !== undefined]);
    if (keepsOpen === undefined) continue;
    const leading = Object.entries(fieldsOf(type.schema).shape).flatMap(([key, field]) =>
      z.globalRegistry.get(field)?.destination === true && !ON_THE_WAY.includes(key) ? [key] : [],
    );
    expect(type.opensAt).toEqual(expect.arrayContaining(leading));
    expect(Object.keys(keepsOpen.others).sort()).toEqual([...type.opensAt].sort());
    for (const [key, value] of Object.entries(keepsOpen.others))
      expect([key, type.configure({ ...raw, [key]: value }).destination]).not.toEqual([
        key,
        target.destination,
      ]);
    expect(type.configure({ ...raw, description: 'other' }).destination).toBe(target.destination);
  }
});
