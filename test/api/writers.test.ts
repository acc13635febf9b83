import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadConfiguration } from '../../src/config/load.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { noData, writeFileText } from '../acceptance/files.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const FILE = `targets:
  - {id: board, type: bulletin_message}
notifications:
  - id: shop   # sells
    condition: no-data
    targets: [board]
    conf: {name: 'syslog:shop'}
`;
const PATH = '/notifications/shop';

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({});
  call = jsonCaller(server);
});

afterAll(() => server.stop());

beforeEach(() => given(FILE));

const file = (): string => readFileSync(join(server.config, 'notifications.yml'), 'utf8');
const write = (text: string): string => writeFileText(server.config, 'notifications.yml', text);

async function given(text: string): Promise<void> {
  write(text);
  expect((await call('DELETE', '/notifications/nobody')).status).toBe(404);
}

/** What a fresh start would read. */
function loaded() {
  const sources = { folder: server.config, environment: {}, flags: {} };
  const result = loadConfiguration(sources, systemClock);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.configuration;
}

const clients = Array.from({ length: 20 }, (_, index) => index);

describe('20 clients at once', () => {
  it('that PATCH one object are all heard, and the last word is on disk', async () => {
    const answers = await Promise.all(
      clients.map(index =>
        call('PATCH', PATH, { conf: { timeWindow: `${index + 60}s` }, description: `${index}` }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(clients.map(() => 200));
    for (const [index, { body }] of answers.entries())
      expect(body.items[0]).toMatchObject({
        description: `${index}`,
        conf: { timeWindow: `${index + 60}s` },
      });
    const [onDisk] = loaded().notifications;
    const { body } = await call('GET', `${PATH}?effective=true`);
    expect(JSON.parse(JSON.stringify(onDisk?.settings))).toEqual(body.items[0]);
    expect(file()).toContain('# sells');
  });

  it('that change different keys lose nothing of each other', async () => {
    const keys = ['description', 'severity', 'for', 'repeatInterval', 'runbookUrl', 'disabled'];
    const values = ['Sells.', 'fatal', '5s', '1h', 'https://wiki.example/', true];
    const changes = keys.map((key, index) => ({ [key]: values[index] }));
    const answers = await Promise.all(changes.map(change => call('PATCH', PATH, change)));
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 200));
    expect((await call('GET', PATH)).body.items[0]).toMatchObject(Object.assign({}, ...changes));
  });

  it('with the same If-Match: one is done, the others are told', async () => {
    const { etag = '' } = await call('GET', PATH);
    const answers = await Promise.all(
      clients.map(index => call('PATCH', PATH, { description: `by ${index}` }, { 'if-match': etag })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...clients.slice(1).map(() => 412)]);
    const won = answers.findIndex(({ status }) => status === 200);
    expect((await call('GET', PATH)).body.items[0].description).toBe(`by ${won}`);
  });

  it('that add the same id: one does', async () => {
    const answers = await Promise.all(
      clients.map(() => call('POST', '/notifications', noData('same', 'x:y', '1h', 'board'))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...clients.slice(1).map(() => 409)]);
    expect(loaded().notifications.map(({ id }) => id)).toEqual(['shop', 'same']);
  });

  it('that add, change and remove at random leave files that load', async () => {
    const work = clients.map(async index => {
      const id = `n${index % 4}`;
      await call('POST', '/notifications', noData(id, `x:${index}`, '1h', 'board'));
      await call('PATCH', `/notifications/${id}`, { description: `${index}` });
      return (await call('DELETE', `/notifications/${id}`)).status;
    });
    for (const status of await Promise.all(work)) expect([200, 404]).toContain(status);
    const inForce = (await call('GET', '/notifications')).body.items;
    expect(loaded().notifications.map(({ id }) => id)).toEqual(inForce.map(({ id }: { id: string }) => id));
  });
});

describe('a hand edit', () => {
  it('just before a PATCH is loaded first, and both stand', async () => {
    write(FILE.replace("{name: 'syslog:shop'}", "{name: 'syslog:till'} # by hand"));
    const { body } = await call('PATCH', PATH, { description: 'by the API' });
    expect(body.items[0]).toMatchObject({ description: 'by the API', conf: { name: 'syslog:till' } });
    expect(file()).toContain('# by hand');
  });

  it('makes an If-Match of before fail', async () => {
    const { etag = '' } = await call('GET', PATH);
    write(FILE.replace('no-data', 'no-data\n    severity: fatal'));
    expect((await call('PATCH', PATH, { description: 'x' }, { 'if-match': etag })).status).toBe(412);
  });

  it('that breaks the file stops writes with its errors until it is mended; reads go on', async () => {
    const broken = FILE.replace('no-data', 'no-luck');
    write(broken);
    const answer = await call('PATCH', PATH, { description: 'x' });
    expect(answer).toMatchObject({ status: 409, body: { code: 'configuration-broken' } });
    expect(answer.text).toContain('no-luck');
    expect((await call('GET', PATH)).status).toBe(200);
    expect(file()).toBe(broken);
    write(FILE);
    expect((await call('PATCH', PATH, { description: 'x' })).status).toBe(200);
  });
});

describe('an open incident', () => {
  const close = async (id: string, change: () => Promise<unknown>) => {
    await call('POST', '/notifications', { ...noData(id, 'x:never', '1s', 'board') });
    const incidents = async () => (await call('GET', `/incidents?notification=${id}`)).body.items;
    await expect.poll(incidents).toMatchObject([{ state: 'open' }]);
    await change();
    await expect.poll(incidents).toMatchObject([{ state: 'closed' }]);
    return (await incidents())[0].closeReason;
  };

  it('closes when its notification is disabled', async () => {
    expect(await close('one', () => call('PATCH', '/notifications/one', { disabled: true }))).toBe(
      'the notification was disabled',
    );
  });

  it('closes when the conf of its notification changes', async () => {
    expect(
      await close('two', () => call('PATCH', '/notifications/two', { conf: { timeWindow: '1h' } })),
    ).toBe('the notification was changed');
  });

  it('closes when its notification is removed', async () => {
    expect(await close('three', () => call('DELETE', '/notifications/three'))).toBe(
      'the notification was removed',
    );
  });
});
