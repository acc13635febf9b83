import { expect, it } from 'vitest';
import { decide } from './evaluation.ts';

const okInput = {
  verdict: 'ok',
  isOpen: false,
  pendingMs: 0,
  forMs: 0,
  unmetMs: undefined,
  keepMs: 0,
  sinceNotifiedMs: 0,
  repeatMs: null,
} as const;

it.each([
  ['says nothing while all is well', {}, 'nothing'],
  ['opens as soon as the condition holds', { verdict: 'alarm' }, 'open'],
  [
    'waits for as long as the condition must hold',
    { verdict: 'alarm', forMs: 5000, pendingMs: 4999 },
    'pend',
  ],
  ['opens when it has held long enough', { verdict: 'alarm', forMs: 5000, pendingMs: 5000 }, 'open'],
  [
    'says nothing more while an incident lasts',
    { verdict: 'alarm', isOpen: true, sinceNotifiedMs: 9e9 },
    'nothing',
  ],
  [
    'reminds when the time has come',
    { verdict: 'alarm', isOpen: true, repeatMs: 60_000, sinceNotifiedMs: 60_000 },
    'repeat',
  ],
  [
    'does not remind before',
    { verdict: 'alarm', isOpen: true, repeatMs: 60_000, sinceNotifiedMs: 59_999 },
    'nothing',
  ],
  ['closes when the condition ends', { isOpen: true }, 'close'],
  ['neither opens on what is not known', { verdict: 'unknown' }, 'nothing'],
  ['nor closes on it', { verdict: 'unknown', isOpen: true }, 'nothing'],
  ['nor reminds on it', { verdict: 'unknown', isOpen: true, repeatMs: 1, sinceNotifiedMs: 2 }, 'nothing'],
] as const)('%s', (_, change, decision) => {
  expect(decide({ ...okInput, ...change })).toBe(decision);
});
