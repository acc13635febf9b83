import { expect, it } from 'vitest';
import { closing, opening } from '../../test/helpers/transitions.ts';
import { settle } from '../../test/storage/rows.ts';
import type { SettleOperation } from '../storage/operations/settle.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';
import { type Fallback, withFallbackDeliveries } from './settle.ts';

type State = SettleOperation['state'];

const [ALARM] = opening().operation.deliveries;
const [OK] = closing(opening()).operation.deliveries;

function after(
  row: DeliveryRow | undefined,
  state: State,
  facts: Partial<Pick<Fallback, 'isFailing' | 'fallbackTargets' | 'fallbacks'>>,
  unknownAttempts = 0,
) {
  if (row === undefined) throw new Error('there is no delivery');
  const before = settle(row.id, {
    state,
    unknownAttempts,
    lastError: 'status 503',
    nextAt: state === 'waiting' ? 900 : null,
    settledAt: state === 'waiting' ? null : 700,
  });
  const tried: DeliveryRow = { ...row, attempts: 4, next_at: 5, last_error: 'before', retried_at: 3 };
  const more = { isFailing: false, fallbackTargets: [], fallbacks: () => ['spare'], ...facts };
  const result = withFallbackDeliveries(before, {
    row: tried,
    ids: { next: () => 'new' },
    now: 800,
    ...more,
  });
  return { before, result, row: tried };
}

it.each<[string, State, boolean, State | undefined]>([
  ['that arrived', 'sent', false, undefined],
  ['that is tried again', 'waiting', false, undefined],
  ['that is tried again by a target that fails', 'waiting', true, 'exhausted'],
  ['that was refused', 'refused', false, 'refused'],
  ['that was given up', 'exhausted', true, 'exhausted'],
  ['that may not have arrived', 'unknown', false, 'unknown'],
  ['that was skipped', 'skipped', true, undefined],
])('does with an alarm %s what the fallback needs', (_what, state, isFailing, expected) => {
  const { before, result } = after(ALARM, state, { isFailing });
  if (expected === undefined) expect(result).toBe(before);
  else
    expect(result).toMatchObject<Partial<SettleOperation>>({
      state: expected,
      nextAt: null,
      settledAt: state === 'waiting' ? 800 : 700,
      lastError: "status 503; failed over to its fallback 'spare'",
    });
});

it('never says of an alarm that may have arrived that it has not, when the fallback gets it', () => {
  const { result } = after(ALARM, 'waiting', { isFailing: true }, 1);
  expect(result).toMatchObject({ state: 'unknown', fallbackDeliveries: [{ target: 'spare' }] });
});

it('gives the fallback the same event anew, in the place of its target', () => {
  const { result, row } = after(ALARM, 'refused', {});
  expect(result.fallbackDeliveries).toEqual([
    {
      ...row,
      id: 'new',
      target: 'spare',
      state: 'waiting',
      attempts: 0,
      next_at: null,
      last_status: null,
      last_error: null,
      created_at: 800,
      settled_at: null,
      retried_from: 0,
      retried_at: null,
      fallback_for: 'hook',
    },
  ]);
});

it.each<State>(['sent', 'unknown', 'waiting', 'refused', 'exhausted', 'skipped'])(
  'gives the end that is %s to all that were told the alarm and to no other, and leaves it to its target as it is',
  state => {
    for (const others of [['spare'], []]) {
      const told = after(OK, state, {
        fallbackTargets: ['first', 'second'],
        isFailing: true,
        fallbacks: () => others,
      });
      expect(told.result).toEqual({ ...told.before, fallbackDeliveries: told.result.fallbackDeliveries });
      expect(told.result.fallbackDeliveries).toMatchObject([
        { target: 'first', status: 'OK', fallback_for: 'hook' },
        { target: 'second', status: 'OK', fallback_for: 'hook' },
      ]);
    }
    const { before, result } = after(OK, state, { isFailing: true });
    expect(result).toBe(before);
  },
);

it('takes no id where nobody gets anything', () => {
  const ids = { next: () => expect.unreachable('an id was taken') };
  const facts = { fallbacks: () => ['spare'], isFailing: false, fallbackTargets: [], ids, now: 800 };
  for (const row of [ALARM, OK])
    if (row !== undefined) withFallbackDeliveries(settle(row.id, { state: 'sent' }), { ...facts, row });
});
