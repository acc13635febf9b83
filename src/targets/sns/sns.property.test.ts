import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { anyEvent, anyText } from '../../../test/helpers/any-event.ts';
import { noDial } from '../../../test/helpers/no-http.ts';
import { snsService } from '../../../test/helpers/sns.ts';
import { withDeliveryHints } from '../../events/delivery-hints.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { systemClock } from '../../lib/clock.ts';
import { createHttpClient } from '../../lib/http/client.ts';
import { sns } from './sns.ts';

const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:alerts';

/** Sends to a service that refuses what SNS refuses, through the library of AWS; returns the messages it accepted. */
async function sender(settings: object) {
  const { url, published, isKept } = await snsService();
  const http = createHttpClient({ privateAddresses: 'allow', allowedAddresses: [], clock: systemClock });
  onTestFinished(() => http.close());
  const target = sns.configure({
    id: 'sns',
    type: 'sns',
    region: 'eu-west-1',
    destinationType: 'topic',
    topicArn: TOPIC,
    messageGroupId: '',
    awsAuthenticationMethod: 'manual',
    awsApiKey: 'AKIDEXAMPLE0000001',
    awsSecretKey: 'the-secret-key',
    endpoint: url,
    ...settings,
  });
  const send = (event: HeadgateEvent, steering: object = {}, deliveryId = event.id) =>
    target.send([withDeliveryHints(event, { ...event, ...steering })], {
      deliveryId,
      http,
      dial: noDial,
      secretOf: () => undefined,
      clock: systemClock,
      signal: new AbortController().signal,
      logFolder: '/nowhere',
    });
  return { send, published, requests: () => isKept.length };
}

test('a topic accepts any event, signed and whole', async () => {
  const { send, published } = await sender({});
  let sent = 0;
  const property = fc.asyncProperty(anyEvent, async event => {
    expect(await send(event)).toEqual({ kind: 'sent', httpStatus: 200 });
    expect(published).toHaveLength(++sent);
  });
  await fc.assert(property, { numRuns: 60 });
});

test('any group of a FIFO topic is an id that the topic accepts, or the message is refused here', async () => {
  const groups = ['key', '`${key}`', "'team ' + description", '_raw', 'app'];
  const settings = { topicArn: `${TOPIC}.fifo`, topicType: 'fifo' };
  const senders = await Promise.all(groups.map(messageGroupId => sender({ ...settings, messageGroupId })));
  const property = fc.asyncProperty(anyEvent, fc.nat({ max: groups.length - 1 }), async (event, index) => {
    const { send, requests } = senders[index] ?? (await sender(settings));
    const before = requests();
    const outcome = await send(event);
    if (outcome.kind === 'sent') return;
    expect(outcome).toMatchObject({ kind: 'refused', isAboutMessage: true });
    expect(outcome).toHaveProperty('reason', expect.stringMatching(/^messageGroupId: /));
    expect(requests()).toBe(before);
  });
  await fc.assert(property, { numRuns: 60 });
});

test('for any topic that an event names, only an ARN or an address leaves', async () => {
  const { send, published } = await sender({ topicArn: '`${key}`' });
  const name = fc.oneof(
    anyText,
    anyText.map(text => `arn:aws:sns:eu-west-1:1:${text}`),
    fc.constantFrom(`${TOPIC}\r\nx: y`, `${TOPIC}&Action=Other`, 'https://topics.example/a b', ''),
  );
  const property = fc.asyncProperty(anyEvent, name, fc.boolean(), async (event, topic, isSteered) => {
    const outcome = await (isSteered ? send(event, { __topicArn: topic }) : send({ ...event, key: topic }));
    if (outcome.kind !== 'sent') expect(outcome).toMatchObject({ kind: 'refused', isAboutMessage: true });
  });
  await fc.assert(property, { numRuns: 80 });
  for (const { topic } of published) expect(topic).toMatch(/^(arn:|https?:\/\/)[\x21-\x7e]+$/);
});

test('for any numbers that an event names, only phones get it, each a message it can take', async () => {
  const { send, published, requests } = await sender({
    destinationType: 'phoneNumber',
    topicArn: '',
    allowList: ['+1555*'],
  });
  const numbers = fc.oneof(
    anyText,
    fc
      .array(fc.constantFrom('+15555550001', '+15555550002', '+4930123456', '0049', '+1', ' ', '+1555*'), {
        minLength: 1,
        maxLength: 4,
      })
      .map(list => list.join(',')),
  );
  const property = fc.asyncProperty(anyEvent, numbers, async (event, __phoneNumber) => {
    const outcome = await send(event, { __phoneNumber });
    if (outcome.kind !== 'sent') expect(outcome).toMatchObject({ kind: 'refused', isAboutMessage: true });
  });
  await fc.assert(property, { numRuns: 80 });
  for (const { phone, message, subject } of published) {
    expect(phone).toMatch(/^\+1555\d+$/);
    expect(message.length).toBeLessThanOrEqual(1600);
    expect(subject).toBeUndefined();
  }
  // A refused message is refused here: the service gets no request that it would not accept.
  expect(requests()).toBe(published.length);
});
