import { describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import { atOnce } from '../../lib/slices.ts';
import { type PushedSamples, readSamples } from './samples.ts';

const parseSamples = (raw: unknown): PushedSamples => atOnce(readSamples(raw));

const good = { kind: 'input', id: 'a', metric: 'in_events', value: 1 };

function problemsOf(raw: unknown): readonly string[] {
  try {
    parseSamples(raw);
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.code).toBe('invalid-request');
    return (error.problems ?? []).map(problem => problem.path);
  }
}

describe('readSamples', () => {
  it('takes samples as cumulative unless the body says delta', () => {
    expect(parseSamples({ samples: [good] }).temporality).toBe('cumulative');
    expect(parseSamples({ samples: [good], temporality: 'delta' }).temporality).toBe('delta');
  });

  it.each([
    [
      'an unknown metric',
      { samples: [good, good, good, { ...good, metric: 'events' }] },
      'samples[3].metric',
    ],
    ['a negative counter', { samples: [{ ...good, value: -1 }] }, 'samples[0].value'],
    ['a value that is no number', { samples: [{ ...good, value: '1' }] }, 'samples[0].value'],
    ['an empty id', { samples: [{ ...good, id: '' }] }, 'samples[0].id'],
    ['an unknown kind', { samples: [{ ...good, kind: 'source' }] }, 'samples[0].kind'],
    ['a time that is no whole number', { samples: [{ ...good, time: 1.5 }] }, 'samples[0].time'],
    ['an unknown key', { samples: [{ ...good, x: 1 }] }, 'samples[0]'],
    ['an unknown temporality', { samples: [], temporality: 'x' }, 'temporality'],
    ['no samples', {}, 'samples'],
    ['too many samples', { samples: new Array(100_001).fill(good) }, 'samples'],
    ['no object', 'x', ''],
  ])('refuses %s and names its place', (_, raw, path) => {
    expect(problemsOf(raw)).toEqual([path]);
  });

  it('names twenty places at most, and says how many more there are', () => {
    const samples = new Array(50).fill({ ...good, value: 'x' });
    const problems = [...samples.keys()].slice(0, 20).map(at => `samples[${at}].value`);
    expect(problemsOf({ samples })).toEqual([...problems, '']);
    expect(() => parseSamples({ samples })).toThrow(
      expect.objectContaining({
        problems: expect.arrayContaining([{ path: '', message: 'and 30 more' }]),
      }),
    );
  });
});
