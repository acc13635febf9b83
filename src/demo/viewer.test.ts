import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { type Notice, startViewer, type Viewer } from './viewer.ts';

const event = {
  id: 'e1',
  status: 'ALARM',
  cribl_notification: 'app_silent',
  incidentId: 'i1',
  _raw: 'Source syslog:app had no data for 5s',
};

let viewer: Viewer;
let received: Notice[];
const clock = testClock();

beforeEach(async () => {
  received = [];
  viewer = await startViewer({ clock, received: notice => received.push(notice) });
});
afterEach(() => viewer.close());

const post = (body: string) =>
  fetch(`${viewer.url}/hook`, { method: 'POST', body, headers: { 'webhook-id': 'd1' } });

/** The first `count` messages of the event stream. */
async function messages(count: number): Promise<unknown[]> {
  const answer = await fetch(`${viewer.url}/notices`);
  const found: unknown[] = [];
  let text = '';
  for await (const chunk of answer.body ?? []) {
    text += Buffer.from(chunk).toString('utf8');
    const ended = text.split('\n\n');
    text = ended.pop() ?? '';
    for (const message of ended)
      if (message.startsWith('data: ')) found.push(JSON.parse(message.slice('data: '.length)));
    if (found.length >= count) break;
  }
  return found;
}

describe('the webhook viewer', () => {
  it('tells of each event of a webhook, with when it came and the id of its delivery', async () => {
    const resolution = { ...event, id: 'e2', status: 'OK' };
    const answer = await post(`${JSON.stringify(event)}\n${JSON.stringify(resolution)}\n`);
    expect(answer.status).toBe(200);
    expect(received).toMatchObject([
      { status: 'ALARM', text: event._raw, notification: 'app_silent', deliveryId: 'd1', event },
      { status: 'OK', receivedAt: clock.now() },
    ]);
  });

  it('streams what came before and what comes while somebody looks, with a link to the incident', async () => {
    viewer.linkTo('http://127.0.0.1:9000');
    await post(JSON.stringify(event));
    const streamed = messages(2);
    await post(JSON.stringify({ ...event, status: 'OK' }));
    expect(await streamed).toMatchObject([
      { status: 'ALARM', incidentUrl: 'http://127.0.0.1:9000/#/incidents/i1' },
      { status: 'OK' },
    ]);
  });

  it('keeps the latest 200', async () => {
    const line = (number: number) => JSON.stringify({ ...event, _raw: String(number) });
    await post(Array.from({ length: 205 }, (_, number) => line(number)).join('\n'));
    const [first] = await messages(200);
    expect(first).toMatchObject({ text: '5' });
  });

  it.each([
    ['no JSON', 'hello'],
    ['another object', '{"a":1}'],
    ['one good line and a bad one', `${JSON.stringify(event)}\nnull`],
  ])('refuses %s and takes nothing of it', async (_, body) => {
    expect((await post(body)).status).toBe(400);
    expect(received).toEqual([]);
  });

  it('refuses a body over 1 MiB', async () => {
    const answer = await post('x'.repeat(1024 * 1024 + 1)).catch(() => undefined);
    expect(answer?.status ?? 413).toBe(413);
    expect(received).toEqual([]);
  });

  it('shows a page of its own files only', async () => {
    const page = await fetch(`${viewer.url}/`);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const files = [...(await page.text()).matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(match => match[1]);
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) expect((await fetch(`${viewer.url}${file}`)).status).toBe(200);
    expect((await fetch(`${viewer.url}/other`)).status).toBe(404);
  });

  it('closes at once although somebody still looks', async () => {
    const open = await fetch(`${viewer.url}/notices`);
    await viewer.close();
    await expect(open.text()).rejects.toThrow();
  });
});
