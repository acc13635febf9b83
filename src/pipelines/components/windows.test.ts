import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { addOverGap, addToWindow, createWindow, restoreWindow, windowParts, windowSum } from './windows.ts';

const MINUTE = 60_000;

it('holds what came within it, and lets go of it when its time is over', () => {
  const window = createWindow(MINUTE, 0);
  addToWindow(window, 5, 500);
  addToWindow(window, 7, 30_500);
  expect(windowSum(window, 60_000)).toBe(12);
  expect(windowSum(window, 62_000)).toBe(7);
  expect(windowSum(window, 92_000)).toBe(0);
});

it('lets the oldest part go little by little', () => {
  const window = createWindow(MINUTE, 0);
  addToWindow(window, 100, 0);
  expect(windowSum(window, 60_250)).toBe(75);
});

it('holds of what piled up in a gap only what falls into it, as missing readings would have', () => {
  const window = createWindow(10_000, 0);
  for (let at = 1; at <= 10; at++) addToWindow(window, 100, at * 1000);
  addOverGap(window, 2100, { from: 10_000, to: 31_000, usualMs: 1000 });
  expect(windowSum(window, 31_100)).toBeGreaterThanOrEqual(1000);
  expect(windowSum(window, 31_200)).toBeCloseTo(1000);
  const long = createWindow(MINUTE, 0);
  addOverGap(long, 2100, { from: 10_000, to: 31_000, usualMs: 1000 });
  expect(windowSum(long, 31_000)).toBeCloseTo(2100);
  const young = createWindow(MINUTE, 20_500);
  addOverGap(young, 2100, { from: 10_000, to: 31_000, usualMs: 1000 });
  expect(windowSum(young, 31_000)).toBeCloseTo(1100);
  const coarse = createWindow(MINUTE, 0);
  addOverGap(coarse, 600, { from: 0, to: 60_000, usualMs: 25_000 });
  expect(windowSum(coarse, 60_000)).toBeCloseTo(600);
});

it('is empty after a pause of any length', () => {
  const window = createWindow(1000, 0);
  addToWindow(window, 5, 10);
  expect(windowSum(window, 1e12)).toBe(0);
});

it('goes on after a restart where it stood, however long nothing ran', () => {
  const window = createWindow(MINUTE, 1_000_000);
  addToWindow(window, 5, 1_000_000);
  addToWindow(window, 7, 1_040_000);
  const parts = windowParts(window, 1_050_000);
  const restored = restoreWindow(MINUTE, 3_000, parts, 50_000);
  expect(restored.since).toBe(-47_000);
  expect(windowSum(restored, 3_000)).toBe(12);
  expect(windowSum(restored, 3_000 + 12_000)).toBe(7);
  expect(windowSum(restored, 3_000 + 55_000)).toBe(0);
});

/** Steps of time with what came at their end. */
const story = fc.array(
  fc.record({ afterMs: fc.integer({ min: 0, max: 90_000 }), amount: fc.integer({ min: 0, max: 1000 }) }),
  { maxLength: 200 },
);

it('is never further from a model that keeps every amount than what one part may hold', () => {
  fc.assert(
    fc.property(story, fc.constantFrom(1000, 7777, MINUTE, 3_600_000), (steps, ms) => {
      const window = createWindow(ms, 0);
      const kept: { at: number; amount: number }[] = [];
      let now = 0;
      for (const { afterMs, amount } of steps) {
        now += afterMs;
        addToWindow(window, amount, now);
        kept.push({ at: now, amount });
        const part = ms / 60;
        const within = (least: number, most: number): number =>
          kept.filter(({ at }) => at >= least && at <= most).reduce((sum, one) => sum + one.amount, 0);
        const sum = windowSum(window, now);
        expect(sum).toBeGreaterThanOrEqual(within(now - ms + part, now) - 1e-6);
        expect(sum).toBeLessThanOrEqual(within(now - ms - part, now) + 1e-6);
      }
    }),
  );
});
