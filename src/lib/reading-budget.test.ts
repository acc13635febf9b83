import { expect, it } from 'vitest';
import { ReadingBudget } from './reading-budget.ts';

it('gives as many values and points as it has, and refuses the next', () => {
  const budget = new ReadingBudget({ values: 2, points: 1 });
  budget.takeValue();
  budget.takeValue();
  expect(() => budget.takeValue()).toThrow('more than 2 values; send fewer at a time');
  budget.takePoint();
  expect(() => budget.takePoint()).toThrow('more than 1 points; send fewer at a time');
});

it('asks for a pause after some reading, not before and not twice', () => {
  const budget = new ReadingBudget({ values: 100_000 });
  const pauses = Array.from({ length: 60_000 }, () => {
    budget.takeValue();
    return budget.isPauseDue();
  });
  expect(pauses.filter(Boolean)).toHaveLength(3);
});
