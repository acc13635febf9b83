import { describe, expect, it } from 'vitest';
import type { LogFields } from '../../lib/logger.ts';
import { silentLogger } from '../../lib/logger.ts';
import { atOnce, type Slices } from '../../lib/slices.ts';
import { EvaluationRounds } from './evaluation-rounds.ts';
import type { ActiveRule } from './rule-source.ts';

/** A clock that only work moves. */
function workshop(msPerSecond?: number) {
  let now = 0;
  const log: LogFields[] = [];
  const carriedOver: number[] = [];
  const done: string[] = [];
  const rounds = new EvaluationRounds({
    clock: { monotonic: () => now },
    observedClock: { monotonic: () => now },
    logger: { ...silentLogger, warn: fields => void log.push(fields) },
    quota:
      msPerSecond === undefined ? undefined : { msPerSecond, onCarriedOver: () => carriedOver.push(now) },
  });
  /** A rule whose subjects take so many milliseconds each. */
  const rule = (id: string, subjects: number, ms: number): ActiveRule => {
    function* evaluate(): Slices {
      for (let at = 0; at < subjects; at++) {
        now += ms;
        done.push(`${id}${at}`);
        yield;
      }
    }
    const fields: Pick<ActiveRule, 'evaluate'> & { notification: object } = {
      evaluate,
      notification: { id },
    };
    return fields as ActiveRule;
  };
  return {
    ...{ rounds, rule, log, carriedOver, done },
    pass: (ms: number) => {
      now += ms;
    },
  };
}

const unguarded = (work: () => void): void => work();

describe('a round of evaluations', () => {
  it('lets others have their turn after five milliseconds, also within one rule', () => {
    const { rounds, rule, done } = workshop();
    rounds.configure([rule('a', 3, 3), rule('b', 1, 1)]);
    const work = rounds.run(unguarded);
    expect(work.next().done).toBe(false);
    expect(done).toEqual(['a0', 'a1']);
    expect(atOnce(work)).toBeUndefined();
    expect(done).toEqual(['a0', 'a1', 'a2', 'b0']);
  });

  it('lets others go first the more it took of late, and waits for nobody when it took little', () => {
    const { rounds, rule, done, pass } = workshop(50);
    rounds.configure([rule('a', 4, 6)]);
    const first = rounds.run(unguarded);
    expect([1, 2, 3, 4].map(() => first.next().value)).toEqual([1, 2, 3, 4]);
    expect(done).toEqual(['a0', 'a1', 'a2', 'a3']);
    atOnce(first);
    const next = rounds.run(unguarded);
    expect(next.next()).toEqual({ done: false, value: 4 });
    expect(done).toHaveLength(4);
    atOnce(next);
    pass(2000);
    rounds.run(unguarded).next();
    expect(done).toHaveLength(9);
  });

  it('goes on where it was once the quota has come back, and says which notification takes most', () => {
    const { rounds, rule, done, log, carriedOver, pass } = workshop(50);
    rounds.configure([rule('light', 2, 1), rule('heavy', 10, 40), rule('last', 1, 1)]);
    atOnce(rounds.run(unguarded));
    expect(done.at(-1)).toBe('heavy2');
    expect(carriedOver).toHaveLength(1);
    expect(log).toEqual([
      expect.objectContaining({
        notification: 'heavy',
        milliseconds: 120,
        reason: expect.stringContaining('hosted.quotas.evaluationMsPerSecond'),
      }),
    ]);
    for (let tick = 0; tick < 100 && !done.includes('last0'); tick++) {
      pass(500);
      atOnce(rounds.run(unguarded));
    }
    expect(done).toEqual([
      'light0',
      'light1',
      ...Array.from({ length: 10 }, (_, at) => `heavy${at}`),
      'last0',
    ]);
    expect(log).toHaveLength(1);
  });

  it('takes no more of the time than its quota, however much there is to do', () => {
    const { rounds, rule, done, pass } = workshop(50);
    rounds.configure([rule('a', 1_000_000, 2)]);
    for (let tick = 0; tick < 200; tick++) {
      pass(500);
      atOnce(rounds.run(unguarded));
    }
    expect(done.length * 2).toBeLessThanOrEqual(100 * 50 + 100 + 10 + 0.05 * done.length * 2);
  });

  it('says for how long not everything has been evaluated', () => {
    const { rounds, rule, pass } = workshop(50);
    rounds.configure([rule('a', 10, 40)]);
    pass(500);
    atOnce(rounds.run(unguarded));
    pass(1500);
    expect(rounds.incompleteMs()).toBeGreaterThanOrEqual(2000);
  });

  it('says what each notification takes, and that some wait, to whoever has a quota', () => {
    const { rounds, rule, pass } = workshop(50);
    rounds.configure([rule('light', 2, 1), rule('heavy', 10, 40)]);
    atOnce(rounds.run(unguarded));
    expect([...(rounds.costs()?.byNotification ?? [])]).toEqual([
      ['light', 2],
      ['heavy', 120],
    ]);
    expect(rounds.costs()?.lateMs).toBeGreaterThanOrEqual(120);
    for (let tick = 0; tick < 100 && rounds.costs()?.lateMs !== undefined; tick++) {
      pass(500);
      atOnce(rounds.run(unguarded));
    }
    expect(rounds.costs()).toEqual({
      byNotification: new Map([
        ['light', 2],
        ['heavy', 400],
      ]),
      lateMs: undefined,
    });
    pass(500);
    rounds.run(unguarded).next();
    expect(rounds.costs()?.byNotification.get('heavy')).toBe(400);
    expect(workshop().rounds.costs()).toBeUndefined();
  });

  it('goes on with the rule it was at when others come, and drops what was begun of it', () => {
    const { rounds, rule, done } = workshop();
    rounds.configure([rule('a', 1, 1), rule('b', 4, 10)]);
    const work = rounds.run(unguarded);
    work.next();
    rounds.configure([rule('new', 1, 1), rule('b', 1, 1), rule('c', 1, 1)]);
    atOnce(work);
    expect(done).toEqual(['a0', 'b0', 'b0', 'c0']);
  });

  it('evaluates the others when one fails', () => {
    const { rounds, rule, done } = workshop();
    const broken: ActiveRule = {
      ...rule('broken', 1, 1),
      // biome-ignore lint/correctness/useYield: it fails before it yields
      *evaluate() {
        throw new Error('broken');
      },
    };
    rounds.configure([broken, rule('b', 1, 1)]);
    const failed: unknown[] = [];
    const attempt = (work: () => void): void => {
      try {
        work();
      } catch (error) {
        failed.push(error);
      }
    };
    atOnce(rounds.run(attempt));
    expect(done).toEqual(['b0']);
    expect(failed).toHaveLength(1);
  });
});
