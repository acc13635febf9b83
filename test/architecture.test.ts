import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import {
  folderCycles,
  longFunctions,
  readSources,
  sharedTypeNames,
  singleImporterFiles,
} from '../scripts/figures.ts';
import { readText } from './helpers/markdown.ts';

const floors: readonly (readonly string[])[] = createRequire(import.meta.url)('../scripts/floors.cjs');

const MOST_LINES = 600;
const MOST_IMPORTS = 15;
const MOST_SINGLE_IMPORTERS = 200;
const MOST_LONG_FUNCTIONS = 46;

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name));

const linesOf = (path: string): string[] => readText(path).trimEnd().split('\n');

const written = ['src', 'test', 'scripts', 'bench']
  .flatMap(filesBelow)
  .filter(path => /\.(ts|cjs|js|css|html)$/.test(path));
const sources = readSources();
const source = sources.map(({ path }) => path);
const markdown = [
  ...readdirSync('.').filter(name => name.endsWith('.md')),
  ...['docs', 'client', 'ui'].flatMap(filesBelow).filter(path => path.endsWith('.md')),
];

test('the tests see the source and the documents', () => {
  expect(source.length).toBeGreaterThan(100);
  expect(markdown).toContain('README.md');
  expect(markdown).toContain('docs/glossary.md');
});

test('ARCHITECTURE.md shows the floors that are enforced', () => {
  const shown = [...readText('ARCHITECTURE.md').matchAll(/^ *(\d+) {2}([a-z][a-z ]*)$/gm)].map(
    ([, number, rooms = '']) => ({ number: Number(number), rooms: rooms.trim().split(/ +/) }),
  );
  const enforced = floors.map((rooms, number) => ({ number, rooms }));
  expect(shown).toEqual(enforced.reverse());
});

test('every folder of src is a room on a floor', () => {
  const rooms = readdirSync('src', { withFileTypes: true }).filter(entry => entry.isDirectory());
  expect(rooms.map(({ name }) => name).sort()).toEqual(floors.flat().sort());
});

test('only the clock asks for the time and sets timers', () => {
  const asks = /\bDate\.now\(\)|\bnew Date\(\s*\)|\bset(Timeout|Interval)\(/;
  const guilty = source.filter(path => asks.test(readText(path)));
  expect(guilty).toEqual(['src/lib/clock.ts']);
});

test('files are whole, and say on their first line why they have more than 600 lines', () => {
  const isExcused = (path: string): boolean => /^(\/\/|\/\*|<!--).*\bbecause\b/.test(linesOf(path)[0] ?? '');
  expect(written.filter(path => linesOf(path).length > MOST_LINES && !isExcused(path))).toEqual([]);
});

/** Functions that have more than 80 lines for a reason. The list may only shrink. */
const LONG_FUNCTIONS: Readonly<Record<string, string>> = {
  'src/api/v1/components.ts: anonymous': 'a closure that is still to become a class',
  'src/app/app.ts: startApp': 'a closure that is still to become a class',
  'src/app/deployments/hosted.ts: startHosted': 'a closure that is still to become a class',
  'src/app/leader/leader.ts: startLeader': 'a closure that is still to become a class',
  'src/app/leader/lease.ts: createLeaderElection': 'a closure that is still to become a class',
  'src/app/leader/removed-targets.ts: openRemovedTargets': 'a closure that is still to become a class',
  'src/app/meters.ts: createMeters': 'a closure that is still to become a class',
  'src/app/workspace.ts: startWorkspace': 'a closure that is still to become a class',
  'src/auth/identity.ts: createIdentity': 'a closure that is still to become a class',
  'src/auth/organizations/credentials.ts: createCredentials': 'a closure that is still to become a class',
  'src/auth/organizations/members.ts: createMembers': 'a closure that is still to become a class',
  'src/auth/sessions/sessions.ts: createBrowserSessions': 'a closure that is still to become a class',
  'src/auth/sso/account-linking.ts: createUserProvisioning': 'a closure that is still to become a class',
  'src/auth/sso/provider.ts: createProvider': 'a closure that is still to become a class',
  'src/auth/sso/single-sign-on.ts: createSingleSignOn': 'a closure that is still to become a class',
  'src/auth/tokens/ingest-tokens.ts: openIngestTokens': 'a closure that is still to become a class',
  'src/auth/tokens/key-rotation.ts: openKeyRotation': 'a closure that is still to become a class',
  'src/auth/users/users.ts: createUsers': 'a closure that is still to become a class',
  'src/config/holder.ts: createConfigurationHolder': 'a closure that is still to become a class',
  'src/config/source/document.ts: createDocumentConfiguration': 'a closure that is still to become a class',
  'src/config/yaml/structure.ts: inspectStructure': 'a closure that is still to become a class',
  'src/delivery/dispatcher.ts: createDispatcher': 'a closure that is still to become a class',
  'src/delivery/limits/quota.ts: createQuota': 'a closure that is still to become a class',
  'src/delivery/queue.ts: createBacklog': 'a closure that is still to become a class',
  'src/delivery/queue.ts: createQueue': 'a closure that is still to become a class',
  'src/delivery/send.ts: createBatchSender': 'a closure that is still to become a class',
  'src/delivery/worker.ts: createDeliveryWorker': 'a closure that is still to become a class',
  'src/notifications/engine.ts: createEngine': 'a closure that is still to become a class',
  'src/notifications/grouping/groups.ts: createGroups': 'a closure that is still to become a class',
  'src/notifications/incidents/incidents.ts: createIncidents': 'a closure that is still to become a class',
  'src/notifications/rules/external.ts: createExternalEvents': 'a closure that is still to become a class',
  'src/notifications/rules/flood-summary.ts: createFloodSummaries':
    'a closure that is still to become a class',
  'src/notifications/rules/heartbeat.ts: createHeartbeats': 'a closure that is still to become a class',
  'src/pipelines/history/recorder.ts: createMinuteRecorder': 'a closure that is still to become a class',
  'src/pipelines/ingest/ingester.ts: createIngester': 'a closure that is still to become a class',
  'src/pipelines/monitor.ts: createMonitor': 'a closure that is still to become a class',
  'src/pipelines/parsers/prometheus.ts: readPrometheus': 'a closure that is still to become a class',
  'src/pipelines/pipeline.ts: createPipeline': 'a closure that is still to become a class',
  'src/pipelines/scrape/scraper.ts: createScraper': 'a closure that is still to become a class',
  'src/pipelines/series/series-table.ts: createSeriesTable': 'a closure that is still to become a class',
  'src/storage/migrations/20260115000000-tenants.ts: up': 'a closure that is still to become a class',
  'src/storage/open.ts: createStorage': 'a closure that is still to become a class',
  'src/storage/sqlite/sqlite-worker.ts: connect': 'a closure that is still to become a class',
  'src/storage/stores/deliveries.ts: deliveryStore': 'a closure that is still to become a class',
  'src/storage/stores/organizations.ts: organizationTransaction': 'a closure that is still to become a class',
};

test('a function fits a screen', () => {
  const long = longFunctions(sources).map(({ path, name }) => `${path}: ${name}`);
  expect(long.filter(name => !(name in LONG_FUNCTIONS))).toEqual([]);
  expect(long.length).toBeLessThanOrEqual(MOST_LONG_FUNCTIONS);
});

/** Faces and registries, which bring a whole room or all kinds together. */
const COMPOSING_FILES: readonly string[] = [
  'src/api/login-service/server.ts',
  'src/api/login-service/user-routes.ts',
  'src/api/server.ts',
  'src/api/v1/organizations.ts',
  'src/auth/identity.ts',
  'src/auth/organizations/workspace-access.ts',
  'src/auth/sso/single-sign-on.ts',
  'src/cli/root.ts',
  'src/config/holder.ts',
  'src/config/load.ts',
  'src/config/secrets/mask.ts',
  'src/delivery/worker.ts',
  'src/notifications/engine.ts',
  'src/notifications/incidents/incidents.ts',
  'src/notifications/rules/external.ts',
  'src/pipelines/monitor.ts',
  'src/resources/verb.ts',
  'src/storage/open.ts',
  'src/storage/postgres/postgres.ts',
  'src/storage/storage.ts',
  'src/storage/transactions.ts',
];

test('a file needs few others: 15 imports, where it does not bring a room together', () => {
  const crowded = sources
    .filter(({ path, modules }) => modules.length > MOST_IMPORTS && !path.startsWith('src/app/'))
    .map(({ path }) => path)
    .filter(path => path !== 'src/main.ts' && !path.endsWith('/index.ts'));
  expect(crowded.filter(path => !COMPOSING_FILES.includes(path))).toEqual([]);
});

test('what only makes sense together stands together: few files have a single importer', () => {
  expect(singleImporterFiles(sources).length).toBeLessThanOrEqual(MOST_SINGLE_IMPORTERS);
});

test('folders of a room import one another in one direction only', () => {
  expect(folderCycles(sources).length).toBeLessThanOrEqual(4);
});

const NAMES_IN_MANY_FILES = ['Options', 'Dependencies'];

test('the name of an exported type stands for one thing', () => {
  const isLocal = (path: string): boolean => /^src\/(?:storage|targets)\/[^/]+\//.test(path);
  const shared = [...sharedTypeNames(sources)]
    .map(([name, paths]) => [name, paths.filter(path => !isLocal(path))] as const)
    .filter(([name, paths]) => paths.length > 1 && !NAMES_IN_MANY_FILES.includes(name))
    .map(([name, paths]) => `${name}: ${paths.join(', ')}`);
  expect(shared).toEqual([]);
});

test('nothing is left for later', () => {
  const mark = new RegExp(
    `\\b(${['TO', 'FIX'].map((start, index) => start + ['DO', 'ME'][index]).join('|')})\\b`,
  );
  expect([...written, ...markdown].filter(path => mark.test(readText(path)))).toEqual([]);
});

test('the lock file names no address: any registry may serve it', () => {
  const resolved = [...readText('package-lock.json').matchAll(/"resolved": "([^"]+)"/g)].map(([, to]) => to);
  expect(resolved.filter(to => to !== 'client' && to !== 'ui')).toEqual([]);
});

const CITED = /(?<![\w./-])(?:src|test|docs|scripts|client|ui|bench|\.ci)\/[\w./-]*\w\/?/g;

/** Where a text stands for several paths, as in `src/targets/<type>.ts`, there is nothing to look for. */
const citedIn = (path: string): string[] =>
  [
    ...readText(path)
      .replace(/[\w./-]*[<*{][^\s`|)]*/g, '')
      .matchAll(CITED),
  ].map(([place]) => place);

test('every path that documents and comments cite exists', () => {
  const missing = [...markdown, ...source].flatMap(path =>
    citedIn(path)
      .filter(place => !existsSync(place))
      .map(place => `${path}: ${place}`),
  );
  expect(missing).toEqual([]);
});

/** As GitHub makes them of headings. */
const anchorsOf = (path: string): string[] =>
  linesOf(path)
    .filter(line => /^#+ /.test(line))
    .map(line =>
      line
        .replace(/^#+ /, '')
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );

const linksIn = (path: string): string[] =>
  [...readText(path).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter(link => !/^[a-z]+:/.test(link));

function leadsSomewhere(path: string, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const place = file === '' ? path : join(dirname(path), file);
  return existsSync(place) && (anchor === undefined || anchorsOf(place).includes(anchor));
}

test('every relative link of the documents leads somewhere', () => {
  const broken = markdown.flatMap(path =>
    linksIn(path)
      .filter(link => !leadsSomewhere(path, link))
      .map(link => `${path}: ${link}`),
  );
  expect(broken).toEqual([]);
});
