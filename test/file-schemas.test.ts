import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { describe, expect, it, test } from 'vitest';
import { conditions } from '../src/conditions/index.ts';
import { FILES, type FileName, NOTIFICATIONS_FILE, SETTINGS_FILE } from '../src/config/configuration.ts';
import { isMap, type PlainMap } from '../src/config/plain.ts';
import { writeFirstFiles } from '../src/config/write/first-start.ts';
import { readYaml } from '../src/config/yaml/parse.ts';
import { presets } from '../src/targets/webhook/presets/index.ts';
import { configFolder, errorsOf } from './helpers/config-folder.ts';
import { codeBlocks, readText } from './helpers/markdown.ts';

const schemaOf = (name: FileName): PlainMap =>
  JSON.parse(readFileSync(`schemas/${name.replace(/\.yml$/, '.json')}`, 'utf8'));

const validators = new Map<FileName, ValidateFunction>(
  FILES.map(name => {
    const options = { allErrors: true, strictTypes: false, strictRequired: false, allowUnionTypes: true };
    const ajv = new Ajv({ ...options, strict: true });
    addFormats.default(ajv);
    return [name, ajv.compile(schemaOf(name))];
  }),
);

function valueIn(text: string): unknown {
  const { document, problems } = readYaml(text);
  if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join('\n'));
  return document?.value ?? null;
}

/** The places, as JSON pointers, where the schema of the file refuses the text, with what it says. */
function refusals(name: FileName, text: string): string[] {
  const validate = validators.get(name);
  if (validate === undefined || validate(valueIn(text))) return [];
  return (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if').map(lineOf);
}

/** The key that is wrong belongs to its place. */
function lineOf({ instancePath, message, params }: ErrorObject): string {
  const key = params.additionalProperty ?? params.propertyName ?? params.missingProperty;
  return `${instancePath}${key === undefined ? '' : `/${key}`} ${message}`;
}

const placesOf = (name: FileName, text: string): string[] => [
  ...new Set(refusals(name, text).map(line => line.split(' ')[0] ?? '')),
];

/** The keys that a file may have at the top. */
const sectionsOf = (name: FileName): string[] => Object.keys(Object(schemaOf(name).properties));

/** The file that a text with these keys at the top is of; undefined where it is of none. */
function fileOf(text: string): FileName | undefined {
  const { document } = readYaml(text);
  const keys = isMap(document?.value) ? Object.keys(document.value).filter(key => !key.startsWith('x-')) : [];
  return keys.length === 0
    ? undefined
    : FILES.find(name => keys.every(key => sectionsOf(name).includes(key)));
}

const EXAMPLES = ['README.md', ...['guide', 'reference'].flatMap(markdownIn)].flatMap(path =>
  codeBlocks(readText(path))
    .filter(({ language }) => language === 'yaml')
    .flatMap(({ text }, index) => {
      const name = fileOf(text);
      return name === undefined ? [] : [{ title: `${path}, block ${index + 1}`, name, text }];
    }),
);

function markdownIn(folder: string): string[] {
  return readdirSync(join('docs', folder)).flatMap(name =>
    name.endsWith('.md') ? [join('docs', folder, name)] : [],
  );
}

describe('the schema of a file takes', () => {
  it.each(EXAMPLES)('the example of $title', ({ name, text }) => {
    expect(refusals(name, text)).toEqual([]);
  });

  test('there are examples of both files', () => {
    expect(EXAMPLES.filter(({ name }) => name === SETTINGS_FILE).length).toBeGreaterThan(10);
    expect(EXAMPLES.filter(({ name }) => name === NOTIFICATIONS_FILE).length).toBeGreaterThan(20);
  });

  it('what a first start writes, as it is and with its examples', async () => {
    const folder = configFolder();
    await writeFirstFiles(folder, { environment: {}, flags: {} });
    for (const name of [SETTINGS_FILE, NOTIFICATIONS_FILE] as const) {
      const text = readText(join(folder, name));
      expect(refusals(name, text)).toEqual([]);
      const examples = text.replace(/^# ( *(?:- (?:\{ )?)?[a-zA-Z_]+:(?: .*)?)$/gm, '$1');
      expect(Object.keys(Object(valueIn(examples))).length).toBeGreaterThan(1);
      expect(refusals(name, examples)).toEqual([]);
    }
  });

  it.each(presets)('a webhook with the preset $name', ({ name, example }) => {
    const target = { id: 'a', type: 'webhook', preset: name, ...example };
    expect(refusals(NOTIFICATIONS_FILE, JSON.stringify({ targets: [target] }))).toEqual([]);
  });

  it.each(conditions)('the example of the condition $id', ({ id: condition, example: { id, conf } }) => {
    const text = JSON.stringify({ notifications: [{ id, condition, ...(conf && { conf }) }] });
    expect(refusals(NOTIFICATIONS_FILE, text)).toEqual([]);
  });
});

/** Accepted by the reader, too: each is of the kind that a schema easily gets wrong. */
const ACCEPTED: Readonly<Record<string, readonly [FileName, string]>> = {
  'an empty file': [SETTINGS_FILE, '# nothing'],
  'keys without a value': [
    SETTINGS_FILE,
    'api:\ndelivery:\n  concurrency:\n  privateAddresses:\npipelines:\n',
  ],
  'sections without a value': [NOTIFICATIONS_FILE, 'targets:\nnotifications:\ninhibitions:\n'],
  'references in place of numbers, words and texts of a form': [
    SETTINGS_FILE,
    'api: { port: "${env:PORT}", loginRateLimit: "${env:RATE}" }\ndelivery: { privateAddresses: "${env:ADDRESSES}", retrySchedule: ["${env:WAIT}"] }',
  ],
  'a reference that says how a pipeline is read': [
    SETTINGS_FILE,
    'pipelines:\n  - { id: a, engine: "${env:ENGINE}", url: "http://a.example/" }',
  ],
  'references in targets': [
    NOTIFICATIONS_FILE,
    'targets:\n  - { id: a, type: webhook, url: "${env:URL}", method: "${env:METHOD}", concurrency: "${env:COUNT}", compress: "${env:YES}", pacing: "${env:RATE}" }',
  ],
  'maps by id': [
    NOTIFICATIONS_FILE,
    'targets:\n  bell: { type: bulletin_message }\nnotifications:\n  a: { id: a, condition: no-data, targets: [bell], conf: { name: x } }',
  ],
  'other names of settings': [
    NOTIFICATIONS_FILE,
    'targets: [{ id: a, type: slack, url: "https://hooks.example/a" }, { id: b, type: webhook, url: "https://a.example", keepAliveTime: false }]',
  ],
  'keys for what aliases stand for': [
    NOTIFICATIONS_FILE,
    'x-bell: &bell [bell]\ntargets: [{ id: bell, type: bulletin_message }]\nnotifications: [{ id: a, condition: no-data, targets: *bell, conf: { name: x } }]',
  ],
  'any key of a declared component': [
    'inputs.yml',
    'inputs:\n  a: { type: syslog, port: 514, tls: { on: true } }',
  ],
};

const ENVIRONMENT = {
  ...{ PORT: '9001', RATE: '3/second', ADDRESSES: 'allow', WAIT: '5s', ENGINE: 'vector' },
  ...{ URL: 'https://hooks.example/', METHOD: 'PUT', COUNT: '3', YES: 'true' },
};

describe('what the reader takes, the schemas take', () => {
  it.each(Object.entries(ACCEPTED))('%s', (_, [name, text]) => {
    const key = { 'headgate.yml': 'settings', 'notifications.yml': 'notifications', 'inputs.yml': 'inputs' };
    expect(errorsOf({ [Object(key)[name]]: text, environment: ENVIRONMENT })).toEqual([]);
    expect(refusals(name, text)).toEqual([]);
  });
});

/** A mistake, and the places where it is one. */
const MISTAKES: readonly (readonly [string, FileName, string, readonly string[]])[] = [
  ['an unknown section', SETTINGS_FILE, 'apis: {}', ['/apis']],
  ['an unknown key', SETTINGS_FILE, 'api: { prot: 1 }', ['/api/prot']],
  ['a number in quotes', SETTINGS_FILE, 'api: { port: "9000" }', ['/api/port']],
  ['a number that is too large', SETTINGS_FILE, 'api: { port: 90000 }', ['/api/port']],
  [
    'a word that is none of them',
    SETTINGS_FILE,
    'delivery: { privateAddresses: alow }',
    ['/delivery/privateAddresses'],
  ],
  ['a duration without a unit', SETTINGS_FILE, 'api: { requestTimeout: 30 }', ['/api/requestTimeout']],
  ['a duration with another unit', SETTINGS_FILE, 'api: { requestTimeout: 30sec }', ['/api/requestTimeout']],
  ['a setting that is missing', SETTINGS_FILE, 'api: { tls: { certPath: a } }', ['/api/tls/privKeyPath']],
  [
    'an engine that there is not',
    SETTINGS_FILE,
    'pipelines: [{ id: a, engine: vektor }]',
    ['/pipelines/0/engine'],
  ],
  [
    'a setting of another engine',
    SETTINGS_FILE,
    'pipelines: [{ id: a, engine: vector, push: true, interval: 5s }]',
    ['/pipelines/0/interval'],
  ],
  [
    'an engine that must push',
    SETTINGS_FILE,
    'pipelines: [{ id: a, engine: rsyslog }]',
    ['/pipelines/0/push'],
  ],
  [
    'an engine that cannot push',
    SETTINGS_FILE,
    'pipelines: [{ id: a, engine: logstash, push: true }]',
    ['/pipelines/0/push'],
  ],
  [
    'a reference for true',
    SETTINGS_FILE,
    'pipelines: [{ id: a, engine: vector, push: "${env:PUSH}" }]',
    ['/pipelines/0/push'],
  ],
  ['a list that is a text', SETTINGS_FILE, 'pipelines: edge', ['/pipelines']],
  ['a type that there is not', NOTIFICATIONS_FILE, 'targets: [{ id: a, type: webhok }]', ['/targets/0/type']],
  ['no type', NOTIFICATIONS_FILE, 'targets: [{ id: a }]', ['/targets/0/type']],
  ['no id in a list', NOTIFICATIONS_FILE, 'targets: [{ type: bulletin_message }]', ['/targets/0/id']],
  [
    'an unknown setting of a target',
    NOTIFICATIONS_FILE,
    'targets: { a: { type: webhook, url: "http://a.example", metod: PUT } }',
    ['/targets/a/metod'],
  ],
  [
    'a setting that its target needs',
    NOTIFICATIONS_FILE,
    'targets: [{ id: a, type: slack }]',
    ['/targets/0/slackUrl'],
  ],
  [
    'a setting under two names',
    NOTIFICATIONS_FILE,
    'targets: [{ id: a, type: slack, url: x, slackUrl: x }]',
    ['/targets/0/slackUrl'],
  ],
  [
    'a reference for a type',
    NOTIFICATIONS_FILE,
    'targets: [{ id: a, type: "${env:TYPE}" }]',
    ['/targets/0/type'],
  ],
  [
    'a condition that there is not',
    NOTIFICATIONS_FILE,
    'notifications: [{ id: a, condition: nodata }]',
    ['/notifications/0/condition'],
  ],
  [
    'an unknown setting of a condition',
    NOTIFICATIONS_FILE,
    'notifications: [{ id: a, condition: no-data, conf: { name: x, windw: 5s } }]',
    ['/notifications/0/conf/windw'],
  ],
  [
    'a setting that its condition needs',
    NOTIFICATIONS_FILE,
    'notifications: [{ id: a, condition: no-data, conf: {} }]',
    ['/notifications/0/conf/name'],
  ],
  [
    'no settings of a condition that needs some',
    NOTIFICATIONS_FILE,
    'notifications: [{ id: a, condition: no-data }]',
    ['/notifications/0/conf'],
  ],
  [
    'a volume that is none',
    NOTIFICATIONS_FILE,
    'notifications: [{ id: a, condition: high-volume, conf: { name: x, dataVolume: 10 miles } }]',
    ['/notifications/0/conf/dataVolume'],
  ],
  [
    'a reference where none is read',
    NOTIFICATIONS_FILE,
    'notifications: { a: { condition: no-data, severity: "${env:S}", conf: { name: x } } }',
    ['/notifications/a/severity'],
  ],
  [
    'a key that is no id',
    NOTIFICATIONS_FILE,
    'targets: { "a b": { type: bulletin_message } }',
    ['/targets', '/targets/a b'],
  ],
  ['a component without a type', 'outputs.yml', 'outputs: [{ id: a }]', ['/outputs/0/type']],
];

describe('a mistake is one for the schema at its place', () => {
  it.each(MISTAKES)('%s', (_, name, text, places) => {
    const key = {
      'headgate.yml': 'settings',
      'notifications.yml': 'notifications',
      'outputs.yml': 'outputs',
    };
    expect(errorsOf({ [Object(key)[name]]: text })).not.toEqual([]);
    expect(placesOf(name, text)).toEqual(places.map(place => place.split(' ')[0]));
  });
});

test('what can be hovered is said: settings have descriptions, and those with a default say it', () => {
  const api = Object(Object(schemaOf(SETTINGS_FILE).properties).api).properties;
  expect(api.port).toMatchObject({ default: 9000, description: expect.stringMatching(/ Default: 9000\.$/) });
});
