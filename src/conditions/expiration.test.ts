import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { certificateExpiration, credentialExpiration, type Expiry } from './expiration.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 0, 1);

function evaluate(expiry: Partial<Expiry>, conf: object = {}, condition = certificateExpiration) {
  const subject: Expiry = { kind: condition.kind, key: 'server', expiresAt: NOW, ...expiry };
  const verdict = condition.configure(conf).evaluate({ subject, now: NOW, open: undefined });
  return verdict.state === 'unknown' ? verdict : { state: verdict.state, ...verdict.describe() };
}

it('is an alarm two weeks before a certificate ends, and a week before a credential does', () => {
  expect(evaluate({ expiresAt: NOW + 14 * DAY + 1 })).toMatchObject({ state: 'ok' });
  expect(evaluate({ expiresAt: NOW + 14 * DAY })).toEqual({
    state: 'alarm',
    text: 'Certificate server expires in 14d',
    fields: { expirationDate: '2026-01-15T00:00:00Z', within: '14d' },
  });
  expect(evaluate({ expiresAt: NOW + 8 * DAY }, {}, credentialExpiration)).toMatchObject({ state: 'ok' });
  expect(evaluate({ key: 'ci', expiresAt: NOW + 7 * DAY }, {}, credentialExpiration)).toMatchObject({
    state: 'alarm',
    text: 'Credential ci expires in 7d',
  });
});

it('says how long ago it expired', () => {
  expect(evaluate({ expiresAt: NOW - 2 * DAY - 3_600_000 })).toMatchObject({
    state: 'alarm',
    text: 'Certificate server expired 2d 1h ago',
  });
});

it('resolves when the replacement lasts longer', () => {
  expect(evaluate({ expiresAt: NOW + 90 * DAY }, { within: '30d' })).toMatchObject({
    state: 'ok',
    text: 'Certificate server was renewed and expires in 90d',
  });
});

it('is unknown while the expiry is not known yet', () => {
  expect(evaluate({ expiresAt: undefined })).toMatchObject({ state: 'unknown' });
});

it('is an alarm for what renews itself only when the renewal did not happen', () => {
  expect(evaluate({ expiresAt: NOW + 1, autoRenews: true })).toMatchObject({ state: 'ok' });
  expect(evaluate({ expiresAt: NOW - 1, autoRenews: true })).toMatchObject({ state: 'alarm' });
});

it('is an alarm exactly when no more time is left than the conf says', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -400 * DAY, max: 400 * DAY }),
      fc.integer({ min: 0, max: 400 }),
      (leftMs, days) => {
        const { state } = evaluate({ expiresAt: NOW + leftMs }, { within: `${days}d` });
        expect(state).toBe(leftMs <= days * DAY ? 'alarm' : 'ok');
      },
    ),
  );
});
