import { describe, expect, it } from 'vitest';
import { type Evidence, FINDING_LIFETIME_MS, findingOf, nextFinding, overallHealth } from './health.ts';

const calm: Evidence = {
  kind: 'output',
  up: Number.NaN,
  errors: 0,
  dropped: 0,
  isFailing: false,
  blocked: 0,
  moved: false,
  queueSize: 0,
  queueGrowth: 0,
  fill: 0,
};
const input: Evidence = { ...calm, kind: 'input' };

describe('findingOf', () => {
  it.each<[string, Evidence, string]>([
    ['an idle output', calm, 'Green'],
    ['an output that delivers', { ...calm, moved: true }, 'Green'],
    ['an output that is down', { ...calm, up: 0, moved: true }, 'Red'],
    ['errors and nothing delivered', { ...calm, errors: 3 }, 'Red'],
    ['errors beside deliveries', { ...calm, errors: 3, moved: true }, 'Yellow'],
    ['requests that fail and nothing delivered', { ...calm, isFailing: true }, 'Red'],
    ['requests that fail beside deliveries', { ...calm, isFailing: true, moved: true }, 'Yellow'],
    ['a queue that grows while nothing is delivered', { ...calm, queueGrowth: 10, queueSize: 10 }, 'Red'],
    [
      'a queue that grows beside deliveries',
      { ...calm, queueGrowth: 10, queueSize: 10, moved: true },
      'Green',
    ],
    ['a queue nearly full', { ...calm, fill: 0.8, moved: true }, 'Yellow'],
    ['drops beside deliveries', { ...calm, dropped: 1, moved: true }, 'Yellow'],
    ['drops and nothing delivered', { ...calm, dropped: 1 }, 'Red'],
    ['an input that drops', { ...input, dropped: 1 }, 'Yellow'],
    ['an idle input', input, 'Green'],
    ['an input with errors and no event', { ...input, errors: 1 }, 'Red'],
    ['an input with errors and events', { ...input, errors: 1, moved: true }, 'Yellow'],
    ['a blocked input', { ...input, blocked: 1 }, 'Yellow'],
    ['an input whose queue grows', { ...input, queueGrowth: 1 }, 'Green'],
  ])('%s', (_, evidence, health) => {
    expect(findingOf(evidence).health).toBe(health);
  });
});

describe('nextFinding', () => {
  const red = findingOf({ ...calm, errors: 1 });

  it('keeps a Red output Red while its queue is not empty and nothing leaves', () => {
    const later = { ...calm, queueSize: 5 };
    expect(nextFinding(findingOf(later), red, FINDING_LIFETIME_MS * 10, later).health).toBe('Red');
  });

  it('keeps a finding through a pause between retries, not for ever', () => {
    expect(nextFinding(findingOf(calm), red, FINDING_LIFETIME_MS - 1, calm)).toBe(red);
    expect(nextFinding(findingOf(calm), red, FINDING_LIFETIME_MS, calm).health).toBe('Green');
  });

  it('ends a finding as soon as something is delivered', () => {
    const moved = { ...calm, moved: true };
    expect(nextFinding(findingOf(moved), red, 0, moved).health).toBe('Green');
  });
});

describe('overall', () => {
  it.each([
    [{ Green: 0, Yellow: 0, Red: 0, Unknown: 0 }, 'Unknown'],
    [{ Green: 0, Yellow: 0, Red: 0, Unknown: 2 }, 'Unknown'],
    [{ Green: 3, Yellow: 0, Red: 0, Unknown: 1 }, 'Green'],
    [{ Green: 3, Yellow: 1, Red: 0, Unknown: 0 }, 'Yellow'],
    [{ Green: 3, Yellow: 0, Red: 1, Unknown: 0 }, 'Yellow'],
    [{ Green: 1, Yellow: 0, Red: 1, Unknown: 0 }, 'Yellow'],
    [{ Green: 1, Yellow: 0, Red: 2, Unknown: 0 }, 'Red'],
    [{ Green: 0, Yellow: 0, Red: 1, Unknown: 5 }, 'Red'],
  ])('of %j is %s', (counts, health) => {
    expect(overallHealth(counts)).toBe(health);
  });
});
