import { createHmac } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { alarm, anyEvent } from '../../../test/helpers/any-event.ts';
import { contractServer } from '../../../test/helpers/contract-server.ts';
import { noDial } from '../../../test/helpers/no-http.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { systemClock } from '../../lib/clock.ts';
import { createHttpClient } from '../../lib/http/client.ts';
import { wellFormedJson } from '../../lib/text.ts';
import { renderBody } from './body.ts';
import { webhookSettings } from './settings.ts';
import { webhook } from './webhook.ts';

const URL = 'https://hooks.example/in';
const events = fc.array(anyEvent, { minLength: 1, maxLength: 4 });

/** Renders the body of events. */
function bodyOf(given: readonly HeadgateEvent[], settings: object): string {
  const read = webhookSettings.parse({ id: 'h', type: 'webhook', url: URL, ...settings });
  return renderBody(given, read, () => {}) ?? '';
}

/** A value as its receiver reads it: without halves of characters. */
const received = (value: unknown): unknown => JSON.parse(wellFormedJson(value));

test('any event is one line of JSON, or one item of an array', () => {
  fc.assert(
    fc.property(events, given => {
      const lines = bodyOf(given, {}).split('\n');
      expect(lines.pop()).toBe('');
      expect(lines.map(line => JSON.parse(line))).toEqual(given.map(received));
      expect(JSON.parse(bodyOf(given, { format: 'json_array' }))).toEqual(given.map(received));
    }),
    { numRuns: 100 },
  );
});

/** A JSON text with places, inside of quotes and as values. */
const TEMPLATE =
  '`{ "text": "${_raw}", "more": ["x ${description} y", ${starttime}], "whole": ${__e}, "none": ${nobody} }`';

/** Renders the template for an event, or the whole event where that is longer than an expression may make a text. */
function saidOf(event: HeadgateEvent): unknown {
  const said = {
    text: event._raw,
    more: [`x ${String(event.description ?? '')} y`, event.starttime],
    whole: received(event),
    none: null,
  };
  return JSON.stringify(said).length > 60_000 ? expect.anything() : received(said);
}

test('with any values in the places of a JSON text, it stays JSON with the same content', () => {
  const custom = {
    format: 'custom',
    srcExpression: TEMPLATE,
    customEventDelimiter: ',',
    customPayloadExpression: '{"items":[${events}]}',
  };
  fc.assert(
    fc.property(events, given => {
      const said = given.map(saidOf);
      expect(JSON.parse(bodyOf(given, custom))).toEqual({ items: said });
      const lines = bodyOf(given, { srcExpression: TEMPLATE }).trimEnd().split('\n');
      expect(lines.map(line => JSON.parse(line))).toEqual(said);
    }),
    { numRuns: 100 },
  );
});

test.each(['value1:', 'true', '123', 'null', '[FIRING:1] Name (ns)', '- a', '"', 'a\nb', '{{x}}', '$labels'])(
  'a value that looks like something else stays the text %j',
  _raw => {
    for (const srcExpression of ['`{"text":"${_raw}"}`', '{ text: _raw }', '{"text":"${_raw}"}'])
      expect(JSON.parse(bodyOf([{ ...alarm, _raw }], { srcExpression }))).toEqual({ text: _raw });
  },
);

test('any request is one that HTTP and Standard Webhooks allow', async () => {
  const key = Buffer.alloc(32, 7);
  const faults: string[] = [];
  const server = await contractServer(({ headers, raw }) => {
    const id = String(headers['webhook-id']);
    const seconds = String(headers['webhook-timestamp']);
    const mac = createHmac('sha256', key).update(`${id}.${seconds}.`).update(raw).digest('base64');
    if (id.includes('.')) faults.push('a dot in the id');
    if (Math.abs(Number(seconds) - Date.now() / 1000) > 300) faults.push('a time out of tolerance');
    if (headers['webhook-signature'] !== `v1,${mac}`) faults.push('a wrong signature');
    if (Number(headers['content-length']) !== raw.length) faults.push('another length');
    const text = headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    if (!Array.isArray(JSON.parse(text.toString()))) faults.push('no array');
    return { status: 200, body: '' };
  });
  onTestFinished(server.stop);
  const http = createHttpClient({ privateAddresses: 'allow', allowedAddresses: [], clock: systemClock });
  onTestFinished(() => http.close());
  const target = (compress: boolean) =>
    webhook.configure({
      id: 'h',
      type: 'webhook',
      url: server.url,
      format: 'json_array',
      signingSecret: `whsec_${key.toString('base64')}`,
      compress,
    });
  const property = fc.asyncProperty(events, fc.boolean(), async (given, compress) => {
    const [first] = given;
    const outcome = await target(compress).send(given, {
      deliveryId: first?.id ?? '',
      http,
      dial: noDial,
      secretOf: () => undefined,
      clock: systemClock,
      signal: new AbortController().signal,
      logFolder: '/nowhere',
    });
    expect([outcome, faults]).toEqual([{ kind: 'sent', httpStatus: 200 }, []]);
  });
  await fc.assert(property, { numRuns: 40 });
});
