import { expect, onTestFinished, test } from 'vitest';
import { alarm } from '../../test/helpers/any-event.ts';
import { anyReceiver } from '../../test/helpers/any-receiver.ts';
import { networkTargets } from '../../test/helpers/target-samples.ts';
import { withDeliveryHints } from '../events/delivery-hints.ts';
import { systemClock } from '../lib/clock.ts';
import { createDial } from '../lib/dial.ts';
import { createHttpClient } from '../lib/http/client.ts';
import { findTargetType } from './index.ts';

const HALF = 'a\ud800b';

const policy = { privateAddresses: 'allow', allowedAddresses: [] } as const;
const EXPRESSIONS = [
  {},
  { format: 'json_array' },
  { srcExpression: '`${JSON.stringify({x: x})}`' },
  { srcExpression: '({ y: [x], z: "\u{1f600}".slice(0, 1) })' },
  { srcExpression: '`{"text": "${x}"}`', format: 'custom' },
];
const cases = networkTargets('127.0.0.1', 1).flatMap(({ type }) =>
  (type === 'webhook' ? EXPRESSIONS : [{}]).map(settings => [type, settings] as const),
);

test.each(cases)('%s with %j sends no half of a character', async (type, more) => {
  const { port, heard } = await anyReceiver();
  const settings = networkTargets('127.0.0.1', port).find(one => one.type === type);
  const http = createHttpClient({ ...policy, clock: systemClock });
  onTestFinished(() => http.close());
  const event = { ...alarm, _raw: HALF, x: HALF, [HALF]: HALF, description: HALF };
  const hints = { ...event, __targetConfigs: { smtp: { emailRecipient: { to: 'ops@example.com' } } } };
  await findTargetType(type)
    ?.configure({ ...settings, ...more })
    .send([withDeliveryHints(event, hints)], {
      ...{ deliveryId: 'd1', http, dial: createDial(policy), clock: systemClock, logFolder: '/nowhere' },
      ...{ secretOf: () => undefined, signal: new AbortController().signal },
    });
  const sent = heard();
  expect(sent.length).toBeGreaterThan(100);
  expect(() => new TextDecoder('utf-8', { fatal: true }).decode(sent)).not.toThrow();
  expect(sent.toString('latin1')).not.toMatch(/\\u[dD][89a-fA-F]/);
});
