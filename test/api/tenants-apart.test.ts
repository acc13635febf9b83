import { request } from 'node:http';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { ingestOperations } from '../../src/api/ingest/ingest.ts';
import type { Operation } from '../../src/api/operation.ts';
import { servedRoutes } from '../../src/api/v1/index.ts';
import { streamOperation } from '../../src/api/v1/stream.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ask, type HostedAnswer, type HostedCall } from '../helpers/hosted.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';
import { nounOf, pathOf, placesIn, strangeTo, told, toldBut } from '../helpers/naming.ts';
import { apiOf, GROUP, MARK, makeThings, type Things } from '../helpers/tenant-things.ts';
import { until } from '../helpers/until.ts';

/** The workspace whose things are asked for, one beside it in the organization, and those of strangers. */
const OURS = `${MARK}main-${MARK}org`;
const BESIDE = `${MARK}test`;
const THEIRS = 'main-corp';
const TWIN = 'main-twin';

/** What is the same for everybody, by noun of the row and name of the place. */
const EVERYBODYS = new Map([
  ['conditions.id', 'no-data'],
  ['groups.product', 'stream'],
  ['workers.product', 'stream'],
  // Nobody has any.
  ...['pipelines', 'routes', 'packs', 'functions'].map((noun): [string, string] => [`${noun}.id`, 'default']),
]);
/** Parameters of queries that name things, by the place where such a thing stands in a path. */
const NAMING = new Map([
  ['target', 'targets.id'],
  ['notification', 'notifications.id'],
  ['incident', 'incidents.id'],
  ['commit', 'versions.commit'],
  ['ID', 'versions.commit'],
  ['component', 'inputs.id'],
  ['pipeline', 'ingestTokens.pipeline'],
]);
/** All others bound, sort or choose; `id` of a row that makes something stands in the body as well. */
const PLAIN = [
  ...['offset', 'limit', 'count', 'since', 'until', 'id', 'kind', 'type', 'category', 'state', 'result'],
  ...['actor', 'action', 'filename', 'diffLineLimit', 'metricNameFilter', 'metrics', 'product', 'effective'],
  'mode',
];

/** Needs a name, and says what the time is: asked by every name below. */
const BY_NAME_ONLY: readonly string[] = ['explain.get', 'explain.getInGroup'];

let app: HostedApp;
let things: Things;
let ours: string;
let theirs: string;

beforeAll(async () => {
  app = await startHostedApp({
    clock: systemClock,
    organizations: [
      { id: `${MARK}org`, owner: `ann@${MARK}.example`, workspace: `${MARK}main` },
      { id: 'corp', owner: 'bob@corp.example', workspace: 'main' },
      { id: 'twin', owner: 'cat@twin.example', workspace: 'main' },
    ],
  });
  ours = await app.tokenFor(`${MARK}org`);
  theirs = await app.tokenFor('corp');
  things = await makeThings(apiOf(app, OURS, ours), below(OURS));
});
afterAll(() => app.stop());

/** Asks anything of the host of a workspace. */
const below =
  (label: string) =>
  (path: string, call?: HostedCall): Promise<HostedAnswer> =>
    ask(`${app.url}${path}`, { host: `${label}.localhost:${app.port}`, ...call });

/** What of the API there is in hosted installations. */
const rows = servedRoutes.filter(({ isOfInstallation }) => !isOfInstallation);
const reads = ({ method }: Operation): boolean => method === 'GET';

/** What is ours at a place of a path or in a query, and what is everybody's; undefined when nobody has said. */
function knownFor(row: Operation, name: string): string | undefined {
  if (name === 'group') return GROUP;
  const key = NAMING.get(name) ?? `${nounOf(row)}.${name}`;
  return things.places.get(key) ?? EVERYBODYS.get(key);
}

const ourPath = (row: Operation): string => pathOf(row, name => knownFor(row, name));

/** Somebody else's path to our things: the group is one that everybody has. */
const theirPath = (row: Operation): string =>
  pathOf(row, name => (name === 'group' ? 'default' : knownFor(row, name)));

const isOurs = (row: Operation, name: string): boolean =>
  name === 'group' || !EVERYBODYS.has(`${nounOf(row)}.${name}`);

interface Way {
  /** The place or the parameter. */
  readonly at: string;
  readonly named: string;
  readonly path: string;
}

/** Every way in which somebody else can name one thing of ours by the path or the query. */
function waysOf(row: Operation): Way[] {
  const inPath = placesIn(row).filter(name => isOurs(row, name));
  const inQuery = Object.keys(row.query).filter(name => NAMING.has(name));
  return [...inPath, ...inQuery].map(at => {
    const named = knownFor(row, at) ?? '';
    if (at === 'group') return { at, named, path: ourPath(row) };
    return { at, named, path: inPath.includes(at) ? theirPath(row) : `${theirPath(row)}?${at}=${named}` };
  });
}

/** The request of the row's example. */
const exampleOf = ({ method, example }: Operation): HostedCall => ({
  method,
  ...(example.body !== undefined && { body: example.body }),
  headers: { 'x-request-id': 'asked' },
});

/** All that can be asked below /api/v1 with a token, hosted or not. */
const everyRequest = (): [Operation, HostedCall][] =>
  [...servedRoutes, streamOperation].flatMap((row): [Operation, HostedCall][] => {
    const call = exampleOf(row);
    return reads(row)
      ? [
          [row, call],
          [row, { ...call, method: 'HEAD' }],
        ]
      : [[row, call]];
  });

const tellingIn = (text: string): string[] => things.telling.filter(one => text.includes(one));

/** All that we can read of ourselves, but for the state of the machine. */
async function ourState(): Promise<Record<string, string>> {
  const api = apiOf(app, OURS, ours);
  const state: Record<string, string> = {};
  for (const row of rows.filter(reads)) {
    if (/^(?:system\.info|workers\.list)/.test(row.id) || BY_NAME_ONLY.includes(row.id)) continue;
    const answer = await api(ourPath(row), exampleOf(row));
    expect([row.id, answer.status]).toEqual([row.id, 200]);
    state[row.id] = told(answer);
  }
  return state;
}

it('asks for something that is there at every place of every path, and in every parameter that names something', async () => {
  for (const row of rows) {
    for (const name of placesIn(row))
      expect([row.id, name, knownFor(row, name)]).toEqual([row.id, name, expect.any(String)]);
    for (const name of Object.keys(row.query))
      expect([row.id, name, NAMING.has(name) !== PLAIN.includes(name)]).toEqual([row.id, name, true]);
  }
  const state = await ourState();
  for (const key of things.places.keys()) {
    const noun = key.slice(0, key.indexOf('.'));
    const read = Object.entries(state).filter(
      ([id]) => id.startsWith(`${noun}.get`) || id === `${noun}.list`,
    );
    expect([key, read.some(([, text]) => text.includes(things.places.get(key) ?? '-'))]).toEqual([key, true]);
  }
});

it('lists nothing of a tenant to another', async () => {
  const api = apiOf(app, THEIRS, theirs);
  for (const row of rows.filter(reads)) {
    if (BY_NAME_ONLY.includes(row.id) || placesIn(row).some(name => name !== 'group' && isOurs(row, name)))
      continue;
    const answer = await api(theirPath(row), exampleOf(row));
    expect([row.id, answer.status, tellingIn(told(answer))]).toEqual([row.id, 200, []]);
  }
});

it('answers to an id of another tenant as to one that never was, and does nothing', async () => {
  const before = await ourState();
  const api = apiOf(app, THEIRS, theirs);
  // What is refused stands in the audit of whoever asked.
  for (const row of [...rows.filter(reads), ...rows.filter(row => !reads(row))]) {
    // What puts something there makes it for whoever asks; that is the next test.
    if (row.method === 'PUT') continue;
    for (const { at, named, path } of waysOf(row)) {
      const asked = await api(path, exampleOf(row));
      const never = await api(path.replaceAll(named, strangeTo(named)), exampleOf(row));
      const place = `${row.method} ${path}`;
      expect([place, toldBut(named, asked)]).toEqual([place, toldBut(strangeTo(named), never)]);
      expect([place, tellingIn(toldBut(named, asked))]).toEqual([place, []]);
      const mayBeNone = path.includes('?') || (row.answer.kind === 'optional' && at !== 'group');
      if (!mayBeNone) expect([place, asked.status]).toEqual([place, 404]);
      if (mayBeNone && asked.status === 200) expect([place, asked.body.count]).toEqual([place, 0]);
    }
  }
  expect(await ourState()).toEqual(before);
});

it('answers to a body that names something of another tenant as to one that names nothing', async () => {
  const api = apiOf(app, THEIRS, theirs);
  const place = (key: string): string => things.places.get(key) ?? '';
  const since = '2026-01-01T00:00:00Z';
  const secret = (name: string) => `\${secret:${name}}`;
  const hook = { id: 'theirs', type: 'webhook', url: 'https://hooks.example/a', authType: 'token' };
  const bodies: readonly [string, string, string, (id: string) => object][] = [
    ['POST', '/version/revert', 'versions.commit', commit => ({ commit })],
    ['POST', '/deliveries/replay', 'targets.id', target => ({ since, target })],
    ['POST', '/deliveries/replay', 'notifications.id', notification => ({ since, notification })],
    [
      'POST',
      '/system/metrics/query',
      'inputs.id',
      id => ({ components: [id], metrics: ['health'], from: since }),
    ],
    ['POST', '/system/ingest-tokens', 'ingestTokens.pipeline', pipeline => ({ id: 'theirs', pipeline })],
    ['POST', '/notification-targets', 'secrets.name', name => ({ ...hook, token: secret(name) })],
    ['POST', '/notification-targets', 'targets.id', fallback => ({ ...hook, token: 'x', fallback })],
    [
      'POST',
      '/notifications',
      'targets.id',
      id => ({ id: 'theirs', condition: 'search', targets: [id], conf: { savedQueryId: 'a', message: 'b' } }),
    ],
  ];
  for (const [method, path, key, body] of bodies) {
    const named = place(key);
    const call = { method, headers: { 'x-request-id': 'asked' } };
    const asked = await api(path, { ...call, body: body(named) });
    const never = await api(path, { ...call, body: body(strangeTo(named)) });
    expect([path, key, toldBut(named, asked)]).toEqual([path, key, toldBut(strangeTo(named), never)]);
    expect([path, key, tellingIn(toldBut(named, asked))]).toEqual([path, key, []]);
  }
});

it('does to nobody else what a tenant does to itself', async () => {
  const before = await ourState();
  for (const row of rows.filter(one => !reads(one) && placesIn(one).every(name => name === 'group'))) {
    // It ends the token that is shown.
    const token = await app.tokenFor('corp');
    const answer = await apiOf(app, THEIRS, token)(theirPath(row), exampleOf(row));
    expect([row.id, tellingIn(told(answer))]).toEqual([row.id, []]);
  }
  expect(await ourState()).toEqual(before);
});

/** What the stream of changes of a workspace tells, as it comes. */
async function hear(label: string, token: string) {
  let heard = '';
  const host = `${label}.localhost:${app.port}`;
  const call = request(`${app.url}/api/v1/stream`, { headers: { host, authorization: `Bearer ${token}` } });
  onTestFinished(() => void call.destroy());
  const begun = new Promise<void>((resolve, reject) => {
    call.on('error', reject).on('response', response => {
      response.setEncoding('utf8').on('error', () => {});
      response.on('data', (part: string) => {
        heard += part;
        resolve();
      });
    });
  });
  call.end();
  await begun;
  return () => heard;
}

it('tells nobody else what changes at a tenant', async () => {
  const [atOurs, atTheirs] = [await hear(OURS, ours), await hear(THEIRS, theirs)];
  const note = (id: string): HostedCall => ({ method: 'POST', body: { id, text: 'heard' } });
  await apiOf(app, OURS, ours)('/system/messages', note(`${MARK}_heard`));
  await until(() => atOurs().includes(`${MARK}_heard`), 'the hint to us');
  await apiOf(app, THEIRS, theirs)('/system/messages', note('heard_too'));
  await until(() => atTheirs().includes('heard_too'), 'the hint to them');
  expect(tellingIn(atTheirs())).toEqual([]);
  expect(atOurs()).not.toContain('heard_too');
});

it('lets two tenants have things of the same names, and each remove its own', async () => {
  const before = await ourState();
  const api = apiOf(app, TWIN, await app.tokenFor('twin'));
  const { places } = await makeThings(api, below(TWIN));
  expect(await ourState()).toEqual(before);
  for (const row of rows.filter(({ method }) => method === 'DELETE')) {
    // A group stays as long as something is in it.
    if (placesIn(row).includes('group') || nounOf(row) === 'groups') continue;
    const { status } = await api(
      pathOf(row, name => places.get(`${nounOf(row)}.${name}`)),
      exampleOf(row),
    );
    expect([row.id, status]).toEqual([row.id, 200]);
  }
  expect(await ourState()).toEqual(before);
});

it('knows nobody of another organization or of another workspace, whatever is asked', async () => {
  const workspaces = `${app.authUrl}/v1/organizations/${MARK}org/workspaces`;
  await ask(workspaces, { method: 'POST', token: ours, body: { workspaceId: BESIDE } });
  const roles = {
    organizationRole: 'user',
    workspaces: [{ workspaceId: BESIDE, workspaceRole: 'admin' }],
  };
  const made = await ask(`${app.authUrl}/v1/organizations/${MARK}org/api-credentials`, {
    ...{ method: 'POST', token: ours },
    body: { name: 'beside', roles },
  });
  const beside = await app.tokenFor(made.body);
  const own = apiOf(app, `${BESIDE}-${MARK}org`, beside);
  await until(async () => (await own('/auth/me')).status === 200, 'the workspace beside ours');
  const before = await ourState();
  const nowhere = 'nowhere-nobodys';
  for (const [row, call] of everyRequest())
    for (const [who, token] of Object.entries({ theirs, beside })) {
      const path = pathOf(row, name => knownFor(row, name) ?? 'any');
      const asked = await apiOf(app, OURS, token)(path, call);
      const never = await apiOf(app, nowhere, token)(path, call);
      expect([who, row.id, asked.status]).toEqual([who, row.id, 404]);
      expect([who, row.id, toldBut(OURS, asked)]).toEqual([who, row.id, toldBut(nowhere, never)]);
    }
  expect(await ourState()).toEqual(before);
});

it('answers nobody without a token that is good', async () => {
  const forged = `${theirs.slice(0, -4)}AAAA`;
  for (const [row, call] of everyRequest())
    for (const token of [undefined, forged, things.ingestToken]) {
      const path = pathOf(row, name => knownFor(row, name) ?? 'any');
      const answer = await below(OURS)(`/api/v1${path}`, { ...call, ...(token !== undefined && { token }) });
      expect([row.id, answer.status]).toEqual([row.id, 401]);
      expect([row.id, tellingIn(told(answer))]).toEqual([row.id, []]);
    }
});

it('lets the sender of a pipeline in where the pipeline is, and its token into nothing else', async () => {
  const { ingestToken } = things;
  for (const { id, method, path, example } of ingestOperations) {
    const call = { method, body: example.body };
    const statusOf = async (label: string, token?: string) =>
      (await below(label)(path, { ...call, ...(token !== undefined && { token }) })).status;
    const strangers = [
      await statusOf(THEIRS, ingestToken),
      await statusOf(OURS, theirs),
      await statusOf(OURS),
    ];
    expect([id, strangers]).toEqual([id, [401, 401, 401]]);
    expect([id, await statusOf(OURS, ingestToken)]).not.toEqual([id, 401]);
  }
  expect((await apiOf(app, OURS, ingestToken)('/system/inputs')).status).toBe(401);
});
