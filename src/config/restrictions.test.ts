import { expect, test } from 'vitest';
import { alarm } from '../../test/helpers/any-event.ts';
import { noDial, noHttp } from '../../test/helpers/no-http.ts';
import { systemClock } from '../lib/clock.ts';
import { findTargetType } from '../targets/index.ts';
import { confined, UNLIMITED_QUOTAS, workspacePolicy } from './restrictions.ts';

const RESTRICTIONS = {
  delivery: { privateAddresses: 'refuse', allowedAddresses: [] },
  externalUrl: 'https://main-acme.example.com',
  quotas: { ...UNLIMITED_QUOTAS, targets: 1 },
} as const;

const configured = (settings: { readonly type: string }) => {
  const target = findTargetType(settings.type)?.configure({ id: 'a', ...settings });
  if (target === undefined) throw new Error('there is no such type');
  return target;
};

test('a target that uses the identity of the process is switched off in a workspace, and nowhere else', () => {
  const topic = configured({
    type: 'sns',
    ...{ region: 'eu-west-1', destinationType: 'topic', topicArn: 'arn:aws:sns:eu-west-1:1:t' },
    ...{ messageGroupId: '' },
  });
  expect(confined(topic, RESTRICTIONS).switchedOff).toMatch(/'manual'.*'secret'/);
  expect(confined(topic, undefined).switchedOff).toBeUndefined();
});

test('a target that is switched off sends nothing, whoever asks it to', async () => {
  const hook = configured({ type: 'webhook', ...{ url: 'https://hooks.example/' } });
  const off = confined(hook, RESTRICTIONS, [
    { path: ['token'], message: '${env:A} cannot be looked up here' },
  ]);
  const outcome = await off.send([alarm], {
    deliveryId: 'd1',
    http: noHttp,
    dial: noDial,
    secretOf: () => undefined,
    clock: systemClock,
    signal: new AbortController().signal,
    logFolder: '/nowhere',
  });
  expect(outcome).toEqual({ kind: 'refused', reason: 'token: ${env:A} cannot be looked up here' });
});

test('a target that writes a file in the own folder of the workspace runs', () => {
  const log = configured({ type: 'notifications_log' });
  expect(confined(log, RESTRICTIONS).switchedOff).toBeUndefined();
});

test('workspaces reach no private address, whatever the installation may reach, but what is opened by name', () => {
  expect(workspacePolicy({ privateAddresses: 'allow', allowedAddresses: ['10.1.0.0/16'] })).toEqual({
    privateAddresses: 'refuse',
    remedy: expect.stringContaining('ask the operator'),
    allowedAddresses: ['10.1.0.0/16'],
    hidesNames: true,
  });
});
