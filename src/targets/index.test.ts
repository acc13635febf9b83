import { expect, test } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { findTargetType, targetTypes } from './index.ts';
import type { SendContext } from './target.ts';

test('a type is found by what the file says, and an unknown one is not', () => {
  for (const type of targetTypes) expect(findTargetType(type.type)).toBe(type);
  expect(findTargetType('webhook')?.type).toBe('webhook');
  expect(findTargetType('carrier_pigeon')).toBeUndefined();
});

function untouched(): never {
  throw new Error('nothing should be sent');
}

const context: SendContext = {
  deliveryId: 'd',
  http: { request: untouched, close: untouched },
  clock: testClock(),
  signal: new AbortController().signal,
  logFolder: '/nowhere',
};

/** What each type cannot do without. */
const NEEDED: Readonly<Record<string, object>> = {
  webhook: { url: 'http://x.example/' },
  slack: { slackUrl: 'https://hooks.slack.com/services/T0/B0/key' },
  pager_duty: { routingKey: 'k', severity: 'error' },
  sns: {
    region: 'eu-west-1',
    destinationType: 'topic',
    topicArn: 'arn:aws:sns:eu-west-1:1:t',
    messageGroupId: '',
  },
  smtp: { host: 'mail.example', port: 587, smtpUsername: '', smtpPassword: '', from: 'a@b.example' },
  router: { routes: [{ filter: 'true', output: 'x' }] },
  default: { defaultId: 'x' },
};

test('every type takes the common settings and refuses unknown ones', () => {
  for (const type of targetTypes) {
    const common = { description: 'why', systemFields: ['c*'], fallback: 'other', onBackpressure: 'queue' };
    const raw = { id: 'a', type: type.type, ...common, pacing: '2/second', ...NEEDED[type.type] };
    expect(type.configure(raw).settings).toMatchObject({ id: 'a', type: type.type, ...common });
    expect(type.schema.safeParse({ ...raw, nonsense: 1 }).success).toBe(false);
  }
});

test('types whose sending comes later refuse what is sent to them, and say so', async () => {
  const unsent = targetTypes.filter(type => !type.sends);
  expect(unsent.map(({ type }) => type)).toEqual(['sns', 'smtp']);
  for (const { type, configure } of unsent) {
    const target = configure({ id: 'a', type, ...NEEDED[type] });
    expect(await target.send([], context)).toEqual({
      kind: 'refused',
      reason: `this version does not send to ${type} targets yet`,
    });
  }
});
