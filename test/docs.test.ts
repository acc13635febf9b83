import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { pages, stalePages } from '../scripts/generate.ts';
import { addIngest } from '../src/api/ingest/ingest.ts';
import { addManagement } from '../src/api/management.ts';
import { routes } from '../src/api/v1/index.ts';
import { streamOperation } from '../src/api/v1/stream.ts';
import type { Actor } from '../src/auth/actor.ts';
import type { Role } from '../src/auth/permissions.ts';
import { checkConfiguration } from '../src/config/check-files.ts';
import { NOTIFICATIONS_FILE, SETTINGS_FILE } from '../src/config/configuration.ts';
import { SYSTEM_FIELDS } from '../src/events/system-fields.ts';
import { systemClock } from '../src/lib/clock.ts';
import { AppError, reasonOf } from '../src/lib/errors.ts';
import { atOnce } from '../src/lib/slices.ts';
import { readExternalEvents } from '../src/notifications/external-events.ts';
import { readSamples } from '../src/pipelines/parsers/samples.ts';
import type { WorkspaceContext } from '../src/resources/context.ts';
import { presets } from '../src/targets/webhook/presets/index.ts';
import { notedAudit } from './helpers/audit.ts';
import { testClock } from './helpers/clock.ts';
import { configFolder } from './helpers/config-folder.ts';
import { codeBlocks, exampleOf, readText, sectionOf, tableRows } from './helpers/markdown.ts';
import { story } from './helpers/story.ts';

const API = readText('docs/reference/api.md');
const EVENTS = readText('docs/reference/events.md');

function untouched(): never {
  throw new Error('a verb went on without its permission');
}

const house: WorkspaceContext = {
  get stores() {
    return untouched();
  },
  get components() {
    return untouched();
  },
  minutes: { last: untouched, recordedCount: untouched },
  configuration: untouched,
  configurationStatus: untouched,
  configurationTexts: untouched,
  hideAddresses: untouched,
  isMachineShared: false,
  processes: untouched,
  save: untouched,
  dryRun: untouched,
  planConfiguration: untouched,
  backtest: untouched,
  testSend: untouched,
  previewMessage: untouched,
  explainer: { explain: untouched, explainEvent: untouched },
  checkTexts: untouched,
  requeue: untouched,
  keptSettings: { list: untouched, remove: untouched },
  removeComponent: untouched,
  refreshSilences: untouched,
  refreshAcknowledgement: untouched,
  newId: untouched,
  warningOf: untouched,
  hold: untouched,
  targetIsWell: untouched,
  evaluationAgeMs: untouched,
  evaluationCosts: untouched,
  get secrets() {
    return untouched();
  },
  get ingestTokens() {
    return untouched();
  },
  get users() {
    return untouched();
  },
  keys: { list: untouched, rotate: untouched },
  audit: notedAudit(),
  transaction: untouched,
  clock: { now: untouched },
  subscribe: untouched,
};

const origin = { address: '192.0.2.1', requestId: 'r1' };
const countActor = (role: Role): Actor => ({ kind: 'user', id: 'u1', name: 'somebody', role });

/** The refusal of somebody without any permission names the one that is missing. */
async function permissionOf(route: (typeof routes)[number]): Promise<string> {
  const refusal = await route
    .run({ actor: countActor('user'), context: house, origin, countChange: untouched }, {})
    .catch(reasonOf);
  return /permission '([^']+)'/.exec(String(refusal))?.[1] ?? 'any token';
}

const asDocumented = (path: string): string => path.replace(/:(\w+)/g, '{$1}');

/** A path that is there in a group as well has the place of the group in brackets. */
const GROUP = '[/m/{group}]';
const spelledOut = (path = ''): string[] =>
  path.includes(GROUP) ? [path.replace(GROUP, ''), path.replace(GROUP, GROUP.slice(1, -1))] : [path];

test('api.md lists every path of the API with the permission it asks for', async () => {
  const documented = tableRows(sectionOf(API, 'Paths')).map(([method, path, permission]) =>
    [method, path, permission].join(' '),
  );
  const guarded = await Promise.all(
    routes.map(async route => {
      const path = `/api/v1${route.grouped === false ? '' : GROUP}${asDocumented(route.path)}`;
      return `${route.method} ${path} ${await permissionOf(route)}`;
    }),
  );
  // The one that has no verb behind it.
  const stream = `GET /api/v1${streamOperation.path} ${streamOperation.access}`;
  expect(documented.filter(row => !/ (none|ingest token)$/.test(row)).sort()).toEqual(
    [...guarded, stream].sort(),
  );
});

test('api.md lists every path that the server knows', async () => {
  const identity = { login: untouched };
  const known: string[] = [];
  const clock = testClock();
  const tenantOf = untouched;
  const forwarding = {
    hosts: { isOwn: () => false },
    node: 'n',
    tenantOf,
    http: { forward: untouched, close: untouched },
  };
  const limits = { countActor: untouched, countUnauthenticated: untouched };
  const server = fastify();
  server.addHook('onRoute', ({ method, url }) => {
    if (method !== 'HEAD') known.push(`${method} ${asDocumented(url)}`);
  });
  await server.register(
    scope =>
      addManagement(scope, {
        tenantOf,
        identity,
        health: untouched,
        clock,
        forwarding,
        limits,
        isHosted: false,
      }),
    { prefix: '/api/v1' },
  );
  await server.register(scope => addIngest(scope, { tenantOf, forwarding, limits }), { prefix: '/ingest' });
  await server.close();
  const documented = tableRows(sectionOf(API, 'Paths')).flatMap(([method, path]) =>
    spelledOut(path).map(one => `${method} ${one}`),
  );
  expect(documented.sort()).toEqual(known.sort());
});

test('the examples of api.md are what the API answers', async () => {
  const told = await story();
  const answers = {
    Input: told.input,
    Status: told.status,
    Notification: told.notification,
    Target: told.target,
    Incident: told.incident,
    Delivery: told.delivery,
    Message: told.message,
    Engine: told.engine,
  };
  for (const [title, answer] of Object.entries(answers))
    expect(exampleOf(API, title), title).toEqual(JSON.parse(JSON.stringify(answer)));
  expect(() => atOnce(readSamples(exampleOf(API, 'Ingest')))).not.toThrow();
  expect(readExternalEvents(exampleOf(API, 'Posted events'))).toHaveLength(1);
});

test('the examples of events.md are what targets send', async () => {
  const { alarm, ok, posted } = await story();
  expect(exampleOf(EVENTS, 'Posted')).toEqual(posted);
  expect(exampleOf(EVENTS, 'ALARM')).toEqual(alarm);
  expect(exampleOf(EVENTS, 'OK')).toEqual(ok);
});

test('events.md describes every field of an event, and no other', async () => {
  const { alarm, ok, posted } = await story();
  const added = new Set(['count', 'host', ...Object.keys(alarm)]);
  expect(tableRows(sectionOf(EVENTS, 'Posted')).map(([field]) => field)).toEqual(
    Object.keys(posted).filter(field => !added.has(field)),
  );
  const own = new Set([...Object.keys(alarm), ...Object.keys(ok)].filter(field => field !== 'cribl_host'));
  expect(tableRows(sectionOf(EVENTS, 'Fields')).map(([field]) => field)).toEqual([...own]);
  expect(tableRows(sectionOf(EVENTS, 'System fields')).map(([field]) => field)).toEqual([...SYSTEM_FIELDS]);
});

test('the example of errors.md is what a wrong query is answered', async () => {
  const route = routes.find(({ path }) => path === '/incidents');
  const error: unknown = await route
    ?.run({ actor: countActor('admin'), context: house, origin, countChange: untouched }, { limit: '0' })
    .catch(one => one);
  if (!(error instanceof AppError)) throw new Error(`not refused: ${reasonOf(error)}`);
  const { code, message, problems: errors } = error;
  expect(exampleOf(readText('docs/reference/errors.md'), 'Errors')).toMatchObject({ code, message, errors });
});

test.each(['README.md', 'docs/guide/posted-events.md', 'docs/guide/rsyslog.md', 'docs/guide/vector.md'])(
  'the configuration that %s shows is valid',
  path => {
    const blocks = codeBlocks(readText(path)).filter(({ language }) => language === 'yaml');
    const fileOf = (key: RegExp): string => blocks.find(({ text }) => key.test(text))?.text ?? '';
    const folder = configFolder({
      [SETTINGS_FILE]: fileOf(/^pipelines:/m),
      [NOTIFICATIONS_FILE]: fileOf(/^notifications:/m),
    });
    const environment = { SYSLOG_TOKEN: 'change-me-please', SEARCHES_TOKEN: 'change-me-please' };
    const check = checkConfiguration({ folder, environment, flags: {} }, systemClock);
    expect(check.errors).toEqual([]);
    expect(check.warnings).toEqual([]);
    expect(check.configuration?.settings.pipelines.length).toBeGreaterThan(0);
  },
);

test.each(['docs/guide/mail.md', 'docs/guide/sns.md'])(
  'the targets and notifications that %s shows can be configured like that',
  path => {
    const [block] = codeBlocks(readText(path)).filter(({ language }) => language === 'yaml');
    const folder = configFolder({ [NOTIFICATIONS_FILE]: block?.text ?? '' });
    const check = checkConfiguration({ folder, environment: {}, flags: {} }, systemClock);
    expect(check.errors).toEqual([]);
    expect(check.configuration?.notifications.length).toBeGreaterThan(0);
  },
);

test('the guide of presets shows a target for each, which is valid as it stands', () => {
  const blocks = codeBlocks(readText('docs/guide/presets.md')).filter(({ language }) => language === 'yaml');
  const shown = blocks.map(({ text }) => {
    const folder = configFolder({ [NOTIFICATIONS_FILE]: text });
    const check = checkConfiguration({ folder, environment: {}, flags: {} }, systemClock);
    expect(check.errors, text).toEqual([]);
    const [target] = check.configuration?.targets ?? [];
    return target?.settings.id;
  });
  expect(shown).toEqual(presets.map(({ name }) => name));
  const documented = tableRows(readText('docs/reference/presets.md')).map(([name]) => name);
  for (const name of shown) expect(documented).toContain(name);
});

test('the guides that show a webhook with several addresses or a judged answer can be pasted', () => {
  const blocks = codeBlocks(readText('docs/guide/deliveries.md')).filter(
    ({ language, text }) => language === 'yaml' && /successExpression|resolveUrl/.test(text),
  );
  expect(blocks).toHaveLength(2);
  for (const { text } of blocks) {
    const folder = configFolder({ [NOTIFICATIONS_FILE]: text });
    expect(checkConfiguration({ folder, environment: {}, flags: {} }, systemClock).errors).toEqual([]);
  }
});

test('the provider that the guide of single sign-on shows can be configured like that', () => {
  const [block] = codeBlocks(readText('docs/guide/single-sign-on.md')).filter(one => one.language === 'yaml');
  const folder = configFolder({ [SETTINGS_FILE]: block?.text ?? '' });
  const check = checkConfiguration({ folder, environment: {}, flags: {} }, systemClock);
  expect(check.errors).toEqual([]);
  expect(check.configuration?.settings.auth).toMatchObject({ type: 'openid', fallback: true });
});

/** Made once: it takes seconds. */
const generated = pages();

test('the generated references say what the code says', async () => {
  expect(await stalePages('.', await generated)).toEqual([]);
});

test('a generated reference that is missing or was edited counts as stale', async () => {
  const expected = await generated;
  const folder = configFolder();
  for (const { path, text } of expected.slice(1)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), path.endsWith('errors.md') ? `${text}edited` : text);
  }
  expect(await stalePages(folder, expected)).toEqual([
    'docs/reference/configuration.md',
    'docs/reference/errors.md',
  ]);
});

test('the generated references mark secrets, durations and what a variable sets', async () => {
  const [configuration] = await generated;
  expect(configuration?.text).toContain('| `password` | secret text | no |');
  expect(configuration?.text).toContain('| `conf.timeWindow` | duration | no | `60s` |');
  expect(configuration?.text).toContain('`HEADGATE_API_AUTH_TOKEN_TTL`');
});
