import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import { noDial } from '../../../test/helpers/no-http.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { createHttpClient } from '../../lib/http/client.ts';
import type { Outcome } from '../outcome.ts';
import { webhook } from './webhook.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

const event: HeadgateEvent = {
  id: 'e1',
  status: 'ALARM',
  condition: 'no-data',
  cribl_notification: 'app_silent',
  incidentId: 'i1',
  severity: 'warn',
  _raw: 'line one\nand "two"',
  _time: 1_706_747_300,
  starttime: 1_706_747_240,
  endtime: 1_706_747_300,
  bytes: 0,
};
const ended: HeadgateEvent = { ...event, id: 'e2', status: 'OK' };

interface Sent {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** Returns the bodies that a real receiver got of both events, with the warnings. */
async function sentBy(
  settings: object,
  { clock = testClock(), kind = 'sent' }: { clock?: Clock; kind?: Outcome['kind'] } = {},
): Promise<{ sent: readonly Sent[]; warnings: readonly string[]; outcome: Outcome }> {
  const sent: Sent[] = [];
  const warnings: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', chunk => chunks.push(chunk));
    request.on('end', () => {
      sent.push({ headers: request.headers, body: Buffer.concat(chunks) });
      response.end();
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => new Promise(resolve => server.close(resolve)));
  const http = createHttpClient({ privateAddresses: 'allow', allowedAddresses: [], clock: systemClock });
  cleanups.push(() => http.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const target = webhook.configure({
    id: 'hook',
    type: 'webhook',
    url: `http://127.0.0.1:${port}/in`,
    ...settings,
  });
  const outcome = await target.send([event, ended], {
    deliveryId: '0190-delivery',
    http,
    dial: noDial,
    secretOf: () => undefined,
    clock,
    signal: new AbortController().signal,
    logFolder: '/nowhere',
    warn: reason => void warnings.push(reason),
  });
  expect(outcome.kind).toBe(kind);
  return { sent, warnings, outcome };
}

async function bodyBy(settings: object): Promise<string | undefined> {
  const { sent, warnings } = await sentBy(settings);
  expect(warnings).toEqual([]);
  return sent[0]?.body.toString();
}

const RAW = JSON.stringify(event._raw);
const WHOLE = [event, ended].map(one => JSON.stringify(one));

test.each([
  [{ srcExpression: '{ id, text: _raw }' }, `{"id":"e1","text":${RAW}}\n{"id":"e2","text":${RAW}}\n`],
  [{ srcExpression: '`${id} is ${status}`' }, 'e1 is ALARM\ne2 is OK\n'],
  [{ customSourceExpression: 'id=${id}' }, 'id=e1\nid=e2\n'],
  [
    { srcExpression: '`{ "t": "${_raw}", "n": ${bytes} }`' },
    `{ "t": ${RAW}, "n": 0 }\n{ "t": ${RAW}, "n": 0 }\n`,
  ],
  [{ srcExpression: 'status === "OK" ? id : null' }, `${WHOLE[0]}\ne2\n`],
  [{ srcExpression: 'status === "OK" ? id : null', customDropWhenNull: true }, 'e2\n'],
  [{ format: 'json_array', srcExpression: 'status === "OK" ? id : { id }' }, '[{"id":"e1"},"e2"]'],
  [{ format: 'json_array', srcExpression: 'missing', customDropWhenNull: false }, `[${WHOLE.join(',')}]`],
  [{ format: 'custom' }, WHOLE.join('\n')],
  [{ format: 'custom', srcExpression: 'id', customEventDelimiter: ' | ' }, 'e1 | e2'],
  [
    {
      format: 'custom',
      srcExpression: '{ id }',
      customEventDelimiter: ',',
      customPayloadExpression: '{"items":[${events}]}',
    },
    '{"items":[{"id":"e1"},{"id":"e2"}]}',
  ],
  [{ format: 'custom', srcExpression: 'id', customPayloadExpression: '`<${events}>`' }, '<e1\ne2>'],
])('%j makes the body %j', async (settings, body) => {
  expect(await bodyBy(settings)).toBe(body);
});

test('a request whose events are all dropped is not made, and a test reports it', async () => {
  const dropping = { srcExpression: 'null', customDropWhenNull: true };
  const { sent, outcome } = await sentBy(dropping, { kind: 'refused' });
  expect(sent).toEqual([]);
  expect(outcome).toMatchObject({ kind: 'refused', reason: 'dropped by srcExpression' });
});

test('a request in format custom has its own content type', async () => {
  const { sent } = await sentBy({ format: 'custom', customContentType: 'text/csv; charset=utf-8' });
  expect(sent[0]?.headers['content-type']).toBe('text/csv; charset=utf-8');
});

test('where an expression fails, the events are sent without it, with a warning each', async () => {
  const source = await sentBy({ srcExpression: 'bytes.trim()' });
  expect(source.sent[0]?.body.toString()).toBe(`${WHOLE[0]}\n${WHOLE[1]}\n`);
  expect(source.warnings).toEqual(Array(2).fill(expect.stringMatching(/^srcExpression: .* has no 'trim'/)));
  const payload = await sentBy({ format: 'custom', srcExpression: 'id', customPayloadExpression: 'missing' });
  expect(payload.sent[0]?.body.toString()).toBe('e1\ne2');
  expect(payload.warnings).toEqual([expect.stringMatching(/^customPayloadExpression: it gives nothing/)]);
  const long = await sentBy({
    format: 'custom',
    srcExpression: 'id',
    customPayloadExpression: 'events.repeat(99999)',
  });
  expect(long.sent[0]?.body.toString()).toBe('e1\ne2');
  expect(long.warnings).toEqual([expect.stringContaining('characters')]);
});

const secretOf = (byte: number): string => `whsec_${Buffer.alloc(32, byte).toString('base64')}`;

test.each([
  [{ signingSecret: secretOf(1) }, [1]],
  [{ signingSecret: secretOf(2), previousSigningSecret: secretOf(1) }, [2, 1]],
])('a request is signed over the bytes that travel, by each key there is', async (secrets, keys) => {
  for (const compress of [false, true]) {
    const { sent } = await sentBy({ compress, ...secrets });
    const { headers, body } = sent[0] ?? { headers: {}, body: Buffer.alloc(0) };
    expect(headers['webhook-timestamp']).toMatch(/^\d+$/);
    const expected = keys.map(key => {
      const hmac = createHmac('sha256', Buffer.alloc(32, key));
      return `v1,${hmac.update(`0190-delivery.${headers['webhook-timestamp']}.`).update(body).digest('base64')}`;
    });
    expect(headers['webhook-signature']).toBe(expected.join(' '));
    expect((compress ? gunzipSync(body) : body).toString()).toContain(event.id);
  }
});

test('each attempt is signed for its own time, under the same id', async () => {
  const clock = testClock();
  const attempts: Sent[] = [];
  for (let count = 0; count < 2; count++) {
    attempts.push(...(await sentBy({ signingSecret: secretOf(1) }, { clock })).sent);
    await clock.advance(1_800_000);
  }
  const [first, second] = attempts.map(({ headers, body }) => {
    const time = Number(headers['webhook-timestamp']);
    const hmac = createHmac('sha256', Buffer.alloc(32, 1)).update(`0190-delivery.${time}.`).update(body);
    expect(headers['webhook-signature']).toBe(`v1,${hmac.digest('base64')}`);
    return { id: headers['webhook-id'], time };
  });
  expect(second).toEqual({ id: '0190-delivery', time: (first?.time ?? 0) + 1800 });
  expect(first?.id).toBe('0190-delivery');
});

test('a request without a key is not signed', async () => {
  const { sent } = await sentBy({});
  expect(sent[0]?.headers).not.toHaveProperty('webhook-signature');
});

test.each([
  [{ srcExpression: 'id =' }, 'srcExpression', /^at character \d+: /],
  [{ customPayloadExpression: '`${events' }, 'customPayloadExpression', /^at character 10: ends too early/],
  [{ previousSigningSecret: secretOf(1) }, 'signingSecret', /is required with/],
])('%j is refused at load', (settings, path, message) => {
  const raw = { id: 'h', type: 'webhook', url: 'https://hooks.example/x', ...settings };
  expect(() => webhook.configure(raw)).toThrow(
    expect.objectContaining({
      issues: [expect.objectContaining({ path: [path], message: expect.stringMatching(message) })],
    }),
  );
});
