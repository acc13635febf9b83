import { expect, test } from 'vitest';
import { findTargetType, targetTypes } from './index.ts';

test('a type is found by what the file says, and an unknown one is not', () => {
  for (const type of targetTypes) expect(findTargetType(type.type)).toBe(type);
  expect(findTargetType('webhook')?.type).toBe('webhook');
  expect(findTargetType('carrier_pigeon')).toBeUndefined();
});

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
