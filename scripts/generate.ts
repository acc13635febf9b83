import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fastify } from 'fastify';
import * as z from 'zod';
import { createErrorWriter } from '../src/api/errors.ts';
import { openApiDocument } from '../src/api/openapi/document.ts';
import { fileSchemas } from '../src/api/openapi/file-schemas.ts';
import { type Compatibility, compatibilityOf } from '../src/api/v1/compatibility.ts';
import { operations } from '../src/api/v1/index.ts';
import { conditions } from '../src/conditions/index.ts';
import { variableName } from '../src/config/overrides.ts';
import { settingsSchema } from '../src/config/settings.ts';
import { systemClock } from '../src/lib/clock.ts';
import { AppError, ERROR_CODES, type ErrorCode } from '../src/lib/errors.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { identifier } from '../src/lib/schemas.ts';
import { inhibitionSchema } from '../src/notifications/inhibition/inhibition-rule.ts';
import { notificationSchema } from '../src/notifications/notification.ts';
import { isJsonEngine, profileOf } from '../src/pipelines/engines/index.ts';
import type { EngineProfile, Meaning, ProfileRule } from '../src/pipelines/engines/profile.ts';
import { type PullSettings, pipelineSchema } from '../src/pipelines/settings.ts';
import { targetTypes } from '../src/targets/index.ts';
import { presets } from '../src/targets/webhook/presets/index.ts';
import type { PresetOption } from '../src/targets/webhook/presets/preset.ts';
import { apiPage } from './api-page.ts';
import { buildProduct } from './build.ts';
import { clientFiles } from './generate-client.ts';
import { code, table } from './markdown.ts';
import { RELEASE, recordExamples } from './record-examples.ts';

type Schema = z.core.JSONSchema.JSONSchema;

/** A file that follows from the code; `path` is relative to the repository. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

/** Written by hand but for its table. */
const API_PAGE = 'docs/reference/api.md';

/** Every generated file as it should be now. */
export async function pages(): Promise<readonly Page[]> {
  return [
    { path: 'docs/reference/configuration.md', text: configurationPage() },
    { path: 'docs/reference/engines.md', text: enginesPage() },
    { path: 'docs/reference/presets.md', text: presetsPage() },
    { path: 'docs/guide/presets.md', text: presetsGuide() },
    { path: 'docs/reference/errors.md', text: await errorsPage() },
    { path: 'docs/reference/compatibility.md', text: compatibilityPage() },
    { path: API_PAGE, text: apiPage(await readFile(API_PAGE, 'utf8')) },
    ...schemaFiles(),
    ...(await openApiFiles()),
  ];
}

const presetsPage = (): string =>
  sections(
    heading('Presets of webhooks'),
    'A webhook with a `preset` speaks to that service: the preset sets what is sent, how large it may be, how fast the service takes messages, and which answers mean success. What a target sets itself comes before its preset. [The guide](../guide/presets.md) has a target for each to begin with.',
    table(
      ['Preset', 'Service', 'Limits', 'Success'],
      presets.map(({ name, service, page, limits, success }) => [
        code(name),
        `[${service}](${page})`,
        limits,
        success,
      ]),
    ),
    '## Options',
    'Names in `options`, which reads show, and in `secretOptions`, which no read shows.',
    table(
      ['Preset', 'Setting', 'Required', 'Meaning'],
      presets.flatMap(({ name, options = {}, secretOptions = {} }) => [
        ...Object.entries(options).map(([key, option]) => optionRow(name, `options.${key}`, option)),
        ...Object.entries(secretOptions).map(([key, option]) =>
          optionRow(name, `secretOptions.${key}`, option),
        ),
      ]),
    ),
    '## What each sets',
    ...presets.map(({ name, settings, resolvePath, keepsOpen }) =>
      [
        `### ${name}`,
        '',
        ...Object.entries(settings).map(([key, value]) => `- ${code(key)}: ${code(oneLine(String(value)))}`),
        ...(resolvePath === undefined ? [] : [`- Ends go to \`url\` with ${code(resolvePath)} behind it.`]),
        ...(keepsOpen
          ? ['- An alarm stays open there until its end. A test send opens one and closes it.']
          : []),
      ].join('\n'),
    ),
  );

const optionRow = (name: string, key: string, { isRequired, description }: PresetOption): string[] => [
  code(name),
  code(key),
  isRequired ? 'yes' : 'no',
  description,
];

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, ' ');

const presetsGuide = (): string =>
  sections(
    heading('Alerts in other services'),
    'Paste the target for your service into `notifications.yml`, name it in the `targets` of a notification, store its key by `headgate secrets set NAME`, and try it with `headgate targets test ID`, which shows what the service answered. [The reference](../reference/presets.md) says what each preset sends, its limits and which answers mean success; every setting of a webhook may be set beside it, and comes first.',
    ...presets.map(({ name, service, page, example, keepsOpen, success }) =>
      [
        `## ${service}`,
        '',
        `[How it is set up there](${page}). Success is: ${success}${keepsOpen ? ' The end of an alarm closes what the alarm opened.' : ''}`,
        '',
        '```yaml',
        'targets:',
        `  - id: ${name}`,
        '    type: webhook',
        `    preset: ${name}`,
        ...yamlLines(example, '    '),
        '```',
      ].join('\n'),
    ),
  );

/** Maps of texts and lists of such maps, as examples are. */
const yamlLines = (value: object, indent: string): string[] =>
  Object.entries(value).flatMap(([key, entry]: [string, unknown]) =>
    typeof entry !== 'object' || entry === null
      ? [
          `${indent}${key}: ${/^[\w./:@-]*$/.test(String(entry)) && !/^-|:$/.test(String(entry)) ? entry : `'${entry}'`}`,
        ]
      : Array.isArray(entry)
        ? [
            `${indent}${key}:`,
            ...entry.flatMap((item: object) => {
              const [first = '', ...others] = yamlLines(item, `${indent}    `);
              return [`${indent}  - ${first.trimStart()}`, ...others];
            }),
          ]
        : [`${indent}${key}:`, ...yamlLines(entry, `${indent}  `)],
  );

/** The paths whose file below `folder` is missing or says something else. */
export async function stalePages(folder: string, expected: readonly Page[]): Promise<string[]> {
  const present = await Promise.all(
    expected.map(({ path }) => readFile(join(folder, path), 'utf8').catch(() => undefined)),
  );
  return expected.filter(({ text }, index) => text !== present[index]).map(({ path }) => path);
}

const sections = (...parts: readonly string[]): string => `${parts.join('\n\n')}\n`;

const heading = (title: string): string =>
  `# ${title}\n\nGenerated by npm run generate. Change the code it is drawn from, not this file.`;

const jsonSchema = (schema: z.core.$ZodType): Schema => z.toJSONSchema(schema, { io: 'input' });

/** zod draws no schema of ours as a bare `true` or `false`. */
const asSchema = (schema: Schema | boolean | undefined): Schema => (typeof schema === 'object' ? schema : {});

const itemsOf = (schema: Schema): Schema => (Array.isArray(schema.items) ? {} : asSchema(schema.items));

/** The alternatives of a union, taken apart to the last one. */
const variantsOf = (schema: Schema): Schema[] =>
  schema.oneOf === undefined ? [schema] : schema.oneOf.flatMap(one => variantsOf(asSchema(one)));

const ID_PATTERN = jsonSchema(identifier).pattern;

function typeText(schema: Schema): string {
  if (schema.secret === true) return 'secret text';
  if (schema.const !== undefined) return code(String(schema.const));
  if (schema.enum !== undefined) return schema.enum.map(value => code(String(value))).join(', ');
  if (schema.type === 'array') return `list of ${typeText(itemsOf(schema))}`;
  if (schema.type === 'object') return schema.properties === undefined ? 'map' : 'settings';
  if (schema.type === 'string') return schema.format ?? (schema.pattern === ID_PATTERN ? 'id' : 'text');
  return `${schema.type}${limitsText(schema)}`;
}

function limitsText({ minimum, maximum: most }: Schema): string {
  const maximum = most === Number.MAX_SAFE_INTEGER ? undefined : most;
  if (minimum === undefined) return maximum === undefined ? '' : `, at most ${maximum}`;
  return maximum === undefined ? `, at least ${minimum}` : `, ${minimum} to ${maximum}`;
}

function defaultText(value: unknown): string {
  if (Array.isArray(value)) return code(`[${value.join(', ')}]`);
  if (value === undefined || typeof value === 'object') return '';
  return code(value === '' ? "''" : String(value));
}

interface Key {
  readonly path: string;
  readonly schema: Schema;
  readonly required: boolean;
}

/** The keys of a map, those of its maps and of its lists' items under `key.` and `key[].`. */
function keysOf(schema: Schema, prefix: string): Key[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const value = asSchema(property);
    const path = prefix + name;
    const key = { path, schema: value, required: schema.required?.includes(name) ?? false };
    return [key, ...keysOf(value, `${path}.`), ...keysOf(itemsOf(value), `${path}[].`)];
  });
}

const keyTable = (schema: Schema, prefix = ''): string =>
  table(
    ['Key', 'Type', 'Required', 'Default', 'Meaning'],
    keysOf(schema, prefix).map(({ path, schema: value, required }) => [
      code(path),
      typeText(value),
      required ? 'yes' : 'no',
      defaultText(value.default),
      meaningText(value),
    ]),
  );

const confTable = (schema: Schema): string =>
  Object.keys(schema.properties ?? {}).length === 0 ? 'It has no settings.' : keyTable(schema, 'conf.');

/** What a key means, and its other names. */
function meaningText({ description = '', aliases }: Schema): string {
  const names = (list: readonly unknown[]): string => list.map(name => code(String(name))).join(', ');
  const other = Array.isArray(aliases) ? ` Also read as ${names(aliases)}.` : '';
  return `${description}${other}`;
}

/** Lists and maps have no variable: the environment sets single values. */
const environmentLine = (name: string, schema: Schema): string =>
  `From the environment: ${keysOf(schema, '')
    .filter(({ schema: { type } }) => type !== 'array' && type !== 'object')
    .map(key => code(variableName([name, ...key.path.split('.')])))
    .join(', ')}.`;

function settingsSection(name: string, schema: Schema): string {
  const title = `### ${name}\n\n${schema.description ?? ''}`;
  if (schema.type !== 'array')
    return sections(title, keyTable(schema), environmentLine(name, schema)).trimEnd();
  const variants = variantsOf(itemsOf(schema)).map(variant =>
    sections(`#### ${variantTitle(variant)}`, keyTable(variant)).trimEnd(),
  );
  return sections(title, ...variants).trimEnd();
}

function variantTitle(variant: Schema): string {
  const engine = asSchema(variant.properties?.engine);
  const names = engine.enum ?? [engine.const];
  const pushes = asSchema(variant.properties?.push).const === true;
  return `engine ${names.join(', ')}: ${pushes ? 'pushes' : 'is read'}`;
}

function configurationPage(): string {
  const settings = Object.entries(jsonSchema(settingsSchema).properties ?? {});
  return sections(
    heading('Configuration'),
    'Files in the folder that `--config` names: `headgate.yml` and `notifications.yml`, and where wanted `inputs.yml` and `outputs.yml`, which declare components (`id`, `type`, `disabled`, `group`, and whatever else they should hold) under the key `inputs` or `outputs`. A missing file counts as an empty one. ' +
      '`headgate check` names every error with file, line and column; `headgate check --effective` prints what is in force, defaults included. ' +
      '[Editors](../guide/editors.md) complete the keys and values, explain them, and mark mistakes while you write.',
    'Keys at the top of a file that begin with `x-` are for what several items share by anchors and aliases: `x-ops: &ops [slack, mail]`, and then `targets: *ops`. They stay where they are whatever is changed over the API; an item that has an alias can be changed there, but not the part that is shared. Merge keys (`<<`) are not supported.',
    'Flags win over the environment, the environment over the file, the file over the default. ' +
      'A change of a file is taken up at once, except where the table says that it needs a restart. A file with errors changes nothing.',
    [
      '- **id**: 1 to 512 letters, digits, `_` or `-`.',
      '- **duration**: numbers with their units, the largest first: `500ms`, `30s`, `5m`, `1h30m`, `1.5h`, `7d`. Days have 24 hours; at most `400d`.',
      '- **number**: as in YAML 1.2. A whole number beyond 9007199254740991, and what is beyond the range of numbers, is read as the text that stands there.',
      '- **rate**: a whole number and a unit of time: `2/second`, `30/minute`, `100/hour`, `1000/day`.',
      '- **secret text**: shown as `********` wherever it is read. Write `${env:NAME}`, `${file:/path}` or `${secret:NAME}` (from the encrypted store) for it; in clear it gives a warning.',
    ].join('\n'),
    '`HEADGATE_CONFIG` and `HEADGATE_DATA` stand for `--config` and `--data`. `HEADGATE_LOG_LEVEL` is `debug`, `info`, `warn`, `error` or `silent`. ' +
      '`HEADGATE_ADMIN_PASSWORD` is the password of the first user, `admin`, and counts only while no user exists. `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` say [how webhooks and PagerDuty are reached](../guide/deliveries.md#through-a-proxy).',
    '## headgate.yml',
    ...settings.map(([name, schema]) => settingsSection(name, asSchema(schema))),
    '## notifications.yml',
    'The lists `targets` and `notifications`, and where wanted `inhibitions`; each may also be a map keyed by id.',
    ...targetTypes.map(({ type, description, schema }) =>
      sections(`### Target ${type}`, description, keyTable(jsonSchema(schema))).trimEnd(),
    ),
    sections('### Notification', keyTable(jsonSchema(notificationSchema))).trimEnd(),
    sections(
      '### Inhibition',
      '[How it works](../guide/grouping-and-silences.md#inhibitions).',
      keyTable(jsonSchema(inhibitionSchema)),
    ).trimEnd(),
    ...conditions.map(({ id, name, description, schema }) =>
      sections(`### Condition ${id}`, `${name}. ${description}`, confTable(jsonSchema(schema))).trimEnd(),
    ),
  );
}

/** One pipeline of each engine that is read by a profile which comes with the product. */
function pullPipelines(): PullSettings[] {
  const engines = variantsOf(jsonSchema(pipelineSchema)).flatMap(
    variant => asSchema(variant.properties?.engine).enum ?? [],
  );
  return [...new Set(engines)].flatMap(engine => {
    const pipeline = pipelineSchema.parse({ engine, id: 'any', url: 'http://127.0.0.1/' });
    return pipeline.push === true ? [] : [pipeline];
  });
}

function readingText(meaning: Meaning): string {
  const { reads, scale } = meaning;
  switch (reads) {
    case 'counter':
      return `its increase is ${scale < 0 ? 'taken off' : 'added'}${meaning.isFallback ? ', where nothing else counts it' : ''}`;
    case 'delta':
      return meaning.windowMs === undefined
        ? 'its value is added'
        : `its value is of ${meaning.windowMs / 60_000} minutes, and its share of the time is added`;
    case 'level':
      return `its change is ${scale < 0 ? 'taken off' : 'added'}`;
    case 'grew':
      return '1 when it grew';
    case 'ratio':
      return 'the share of the time it grew by';
    case 'gauge':
      if (meaning.atLeast !== undefined)
        return `${scale < 0 ? 0 : 1} when it is at least ${meaning.atLeast} (${meaning.fold})`;
      if (scale === 0) return `always ${meaning.offset}`;
      return `${scale < 0 ? `${meaning.offset} less its value` : 'its value'} (${meaning.fold})`;
  }
}

function ruleRow(rule: ProfileRule): string[] {
  const where = Object.entries(rule.where ?? {}).map(([label, value]) =>
    code(typeof value === 'string' ? `${label}="${value}"` : `${label}=~"${value.source}"`),
  );
  const type = rule.type === undefined ? '' : code(rule.type);
  return [
    rule.kind,
    code(rule.meaning.metric),
    code(rule.match.source),
    where.join(', '),
    idText(rule),
    type,
    readingText(rule.meaning),
  ];
}

function idText({ id, within }: ProfileRule): string {
  const own = typeof id === 'string' ? code(id) : `the first of ${id.map(code).join(', ')}`;
  return within === undefined ? own : `${own}, after ${code(within)} where there is one`;
}

function profileSection(profile: EngineProfile): string {
  const { engine, rules, typeOf, idOf, ignores, ignoresTypes, namespace } = profile;
  const notes = [
    isJsonEngine(engine) && 'Its page is JSON: a series is a value there, named by its place in a plugin.',
    typeOf !== undefined &&
      `The type of an input or output is taken from its id${idOf === undefined ? '' : ', which is the rest'}.`,
    namespace !== undefined &&
      `With another \`namespace\` in the pipeline the names begin with that in place of ${code(namespace)}.`,
    ignoresTypes !== undefined && `Types that match ${code(ignoresTypes.source)} are ignored.`,
    ignores !== undefined && `Ids that match ${code(ignores.source)} are ignored.`,
  ].filter(note => note !== false);
  return sections(
    `## ${engine}`,
    ...notes,
    table(['Kind', 'Metric', 'Series', 'With labels', 'Id', 'Type', 'How it is read'], rules.map(ruleRow)),
  ).trimEnd();
}

function enginesPage(): string {
  return sections(
    heading('Engines'),
    'The series that are read of each engine, and the metrics of its inputs and outputs that they become. `Id` and `Type` name the label that has them; where no label has the type, it is the engine.',
    'The metrics are the same for all engines: `in_events`, `in_bytes`, `out_events`, `out_bytes`, `errors` and `dropped` only grow; ' +
      '`blocked` is a share of the time, `queue_size` and `queue_capacity` are in one unit, `up` is 0 or 1. ' +
      '`queue_bytes` and `queue_capacity_bytes` take the place of the queue where it is bounded by bytes.',
    ...pullPipelines().map(pipeline => profileSection(profileOf(pipeline))),
    '## rsyslog',
    'rsyslog pushes its own statistics. [The guide](../guide/rsyslog.md) shows how, and which of them are read.',
    '## custom',
    'A pipeline with `rules` of your own, one row of a table like those above each, [as the guide shows](../guide/own-rules.md); or one that pushes samples to ' +
      '[`/ingest/samples`](api.md). The keys are in [configuration.md](configuration.md).',
  );
}

const ERRORS = Object.entries(ERROR_CODES).map(([name, meaning]) => ({ name: asCode(name), meaning }));

/** What passes is a key of `ERROR_CODES`, and those are the codes. */
function asCode(name: string): ErrorCode {
  if (name in ERROR_CODES) return name as ErrorCode;
  throw new Error(`${name} is no error code`);
}

/** Asked of the server's own error handler, so that the page says what is really answered. */
async function statusesByCode(): Promise<ReadonlyMap<string, number>> {
  const server = fastify({ logger: false });
  server.setErrorHandler(createErrorWriter(silentLogger, systemClock));
  for (const { name } of ERRORS)
    server.get(`/${name}`, async () => {
      throw new AppError(name, 'as asked');
    });
  const answers = await Promise.all(ERRORS.map(({ name }) => server.inject(`/${name}`)));
  await server.close();
  return new Map(ERRORS.map(({ name }, index) => [name, answers[index]?.statusCode ?? 0]));
}

const STATE_WORDS: Readonly<Record<Compatibility['state'], string>> = {
  offered: 'offered',
  different: 'offered, with a difference',
  'not-offered': 'not offered',
};

const compatibilityPage = (): string =>
  sections(
    heading('Compatibility'),
    'Headgate speaks the wire format of the Cribl control plane: SDKs, command lines and scripts of that API work against it unchanged. ' +
      'This is each public operation of it below `/api/v1`, and what Headgate does with it. What is offered below `/m/{group}` there is offered below it here. ' +
      'A path that is not offered is answered 404 with the code `not-offered`, a method that is not offered 405. `GET /api/v1/compatibility` answers the same list.',
    table(
      ['Operation', 'State', 'Note'],
      compatibilityOf(operations).map(({ method, path, state, note = '' }) => [
        code(`${method} ${path}`),
        STATE_WORDS[state],
        note,
      ]),
    ),
  );

async function errorsPage(): Promise<string> {
  const statuses = await statusesByCode();
  return sections(
    heading('Errors'),
    'Every error has the same body. `code` is for programs, `message` for people. `requestId` is also in the header `X-Request-Id` and in the log. ' +
      '`errors` is there when single places of the request are wrong. Answers 429 and 503 carry `Retry-After` in seconds where the wait is known.',
    '```json\n{\n  "status": "error",\n  "message": "limit: must be a whole number from 1 to 1000",\n  "code": "invalid-request",\n' +
      '  "requestId": "019b76da-a800-7000-8000-000000000001",\n' +
      '  "errors": [{ "path": "limit", "message": "must be a whole number from 1 to 1000" }]\n}\n```',
    table(
      ['Code', 'Status', 'Meaning'],
      ERRORS.map(({ name, meaning }) => [code(name), String(statuses.get(name)), meaning]),
    ),
  );
}

/** `schemas/headgate.json` is that of `headgate.yml`. */
export const schemaFiles = (): Page[] =>
  [...fileSchemas()].map(([name, schema]) => ({
    path: `schemas/${name.replace(/\.yml$/, '.json')}`,
    text: `${JSON.stringify(schema, null, 2)}\n`,
  }));

/** The examples in it are answers of the product as it is now. */
async function openApiFiles(): Promise<Page[]> {
  await buildProduct();
  const document = openApiDocument(operations, await recordExamples(), RELEASE);
  const text = `${JSON.stringify(document, null, 2)}\n`;
  return [{ path: 'openapi/openapi.json', text }, ...(await clientFiles(document))];
}

async function main(flags: readonly string[]): Promise<number> {
  const expected = await pages();
  const stale = await stalePages('.', expected);
  if (flags.includes('--check')) {
    for (const path of stale) console.error(`${path} is stale; npm run generate writes it anew`);
    return stale.length === 0 ? 0 : 1;
  }
  for (const { path, text } of expected.filter(page => stale.includes(page.path))) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    console.log(`wrote ${path}`);
  }
  return 0;
}

if (process.argv[1] === import.meta.filename) process.exitCode = await main(process.argv.slice(2));
