import { createClient, etagOf } from '@headgate/client';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { ADMIN_PASSWORD } from '../../test/acceptance/bin.ts';
import { noData } from '../../test/acceptance/files.ts';
import { type ApiServer, startApiServer } from '../../test/api/api-server.ts';
import { OPERATIONS } from '../src/generated/operations.ts';

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer({
    settings: { pipelines: [{ id: 'edge', engine: 'custom', push: true, token: 'token-of-edge' }] },
    notifications: {
      targets: IDS.map(id => ({ id, type: 'bulletin_message' })),
      notifications: [noData('silent', 'syslog:app', '1h', 'a')],
    },
  });
});
afterAll(() => server.stop());

const client = () =>
  createClient({
    baseUrl: server.url,
    auth: { username: 'admin', password: ADMIN_PASSWORD },
    ingestToken: 'token-of-edge',
  });

it('has a method for every operation of the document', () => {
  const tree = client();
  for (const id of Object.keys(OPERATIONS)) {
    const [noun = '', verb = ''] = id.split('.');
    expect([id, typeof Reflect.get(Reflect.get(tree, noun), verb)]).toEqual([id, 'function']);
  }
});

type Call = (input: object) => Promise<unknown> & { page(): Promise<unknown> };

it('asks with each of them for something that the server knows', async () => {
  const tree = client();
  for (const [id, { method, answer }] of Object.entries(OPERATIONS)) {
    const [noun = '', verb = ''] = id.split('.');
    const input = {
      id: 'none',
      name: 'none',
      group: 'none',
      product: 'stream',
      ...(method !== 'GET' && { body: [] }),
    };
    const call: Call = Reflect.get(Reflect.get(tree, noun), verb);
    if (answer === 'stream') continue;
    const code = await (answer === 'list' ? call(input).page() : call(input)).then(
      () => 'done',
      (error: { readonly code: string }) => error.code,
    );
    expect([id, code]).toEqual([
      id,
      expect.stringMatching(/^(done|not-found|invalid-request|forbidden|unsupported-media-type)$/),
    ]);
  }
  expect(server.log()).not.toContain('(unknown)');
});

it('reads items that are a plain value', async () => {
  const { groups, workers } = client();
  expect(await groups.version({ id: 'default' })).toMatch(/./);
  expect(await workers.count()).toBe(1);
});

describe('lists', () => {
  it('yield each item once, in order, whatever the size of a page', async () => {
    const tree = client();
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 10 }),
        fc.integer({ min: 0, max: 9 }),
        async (limit, offset) => {
          const ids: string[] = [];
          for await (const target of tree.targets.list({ limit, offset })) ids.push(target.id);
          expect(ids).toEqual(IDS.slice(offset));
        },
      ),
      { numRuns: 30 },
    );
  });

  it('give one page with how many there are in all', async () => {
    const page = await client().targets.list({ limit: 2, offset: 1 }).page();
    expect(page).toMatchObject({ offset: 1, limit: 2, totalCount: 7 });
    expect(page.items.map(({ id }) => id)).toEqual(['b', 'c']);
  });

  it('can be left before their end', async () => {
    for await (const target of client().targets.list({ limit: 1 })) {
      expect(target.id).toBe('a');
      break;
    }
  });
});

it('creates, gets, changes and removes, each as the object it is', async () => {
  const { targets } = client();
  const made = await targets.create({
    body: { id: 'hook', type: 'webhook', url: 'https://hooks.example/x', authType: 'token', token: 'abc' },
  });
  expect(made).toMatchObject({ id: 'hook', type: 'webhook', token: '********', method: 'POST' });
  if (made.type === 'webhook') expectTypeOf(made.url).toBeString();
  const changed = await targets.update({ id: 'hook', body: { description: 'of the shop' } });
  expect(changed.description).toBe('of the shop');
  await targets.remove({ id: 'hook' });
  await expect(targets.get({ id: 'hook' })).rejects.toMatchObject({ status: 404, code: 'not-found' });
});

it('does not overwrite what somebody changed meanwhile', async () => {
  const { notifications } = client();
  const mine = await notifications.get({ id: 'silent' });
  await notifications.update({ id: 'silent', body: { severity: 'error' } });
  const ifMatch = etagOf(mine) ?? '';
  expect(ifMatch).toMatch(/^".+"$/);
  await expect(
    notifications.update({ id: 'silent', body: { severity: 'info' }, ifMatch }),
  ).rejects.toMatchObject({ status: 412, code: 'precondition-failed' });
  const newest = await notifications.get({ id: 'silent' });
  const done = await notifications.update({
    id: 'silent',
    body: { severity: 'info' },
    ifMatch: etagOf(newest) ?? '',
  });
  expect(done.severity).toBe('info');
});

it('names every wrong place of a body', async () => {
  await expect(
    client().messages.create({ body: JSON.parse('{"id":"not an id","severity":"loud"}') }),
  ).rejects.toMatchObject({
    status: 400,
    code: 'invalid-request',
    problems: [{ path: 'id' }, { path: 'text' }, { path: 'severity' }],
    requestId: expect.any(String),
  });
});

it('gives nothing where there may be nothing', async () => {
  await expect(client().messages.remove({ id: 'never-there' })).resolves.toBeUndefined();
});

it('hands in samples with the token of a pipeline', async () => {
  const { ingest, inputs } = client();
  const sample = { kind: 'input', type: 'syslog', id: 'app', metric: 'in_events', value: 5 } as const;
  await expect(ingest.samples({ body: { samples: [sample] } })).resolves.toEqual({ accepted: 1 });
  expect((await inputs.get({ id: 'app' })).headgate.pipeline).toBe('edge');
  expect((await inputs.getInGroup({ group: 'default', id: 'app' })).type).toBe('syslog');
});

it('says that a password is wrong, and not which', async () => {
  const stranger = createClient({ baseUrl: server.url, auth: { username: 'admin', password: 'no' } });
  const error = await stranger.settings.get().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ status: 401, code: 'unauthenticated' });
});
