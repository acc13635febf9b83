import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { onAbort } from './on-abort.ts';

it('calls each that waits once, and none that has left', () => {
  const { signal, abort } = wrapped();
  const called: string[] = [];
  onAbort(signal, () => called.push('first'));
  const leave = onAbort(signal, () => called.push('second'));
  onAbort(signal, () => called.push('third'));
  leave();
  abort();
  abort();
  expect(called).toEqual(['first', 'third']);
});

it('has one listener however many wait', () => {
  const { signal } = wrapped();
  for (let count = 0; count < 1000; count++) onAbort(signal, () => {});
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
});

function wrapped() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
