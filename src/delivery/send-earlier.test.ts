import { expect, test } from 'vitest';
import { alarm } from '../../test/helpers/any-event.ts';
import { noDial, noHttp } from '../../test/helpers/no-http.ts';
import { systemClock } from '../lib/clock.ts';
import type { Outcome } from '../targets/outcome.ts';
import { pagerDuty } from '../targets/pager-duty/pager-duty.ts';
import type { Target } from '../targets/target.ts';
import { wherever } from './send.ts';

const SENT: Outcome = { kind: 'sent', httpStatus: 202 };
const LATER: Outcome = { kind: 'retry', reason: 'busy' };
const REFUSED: Outcome = { kind: 'refused', reason: 'no such key', httpStatus: 400 };

/** The target as it was until 1000, until 2000 and now; each notes that it was sent to and answers what comes next. */
function bench(answers: Readonly<Record<string, Outcome[]>> = {}) {
  const sent: string[] = [];
  const version = (name: string): Target => ({
    ...pagerDuty.configure({
      id: 'pager',
      type: 'pager_duty',
      severity: 'error',
      routingKey: `key-of-${name}`,
    }),
    patienceMs: 100,
    send: async () => {
      sent.push(name);
      return answers[name]?.shift() ?? SENT;
    },
  });
  const earlier = [
    { id: 'pager@2000', replacedAt: 2000, target: version('b') },
    { id: 'pager@1000', replacedAt: 1000, target: version('a') },
  ];
  const target: Target = { ...version('now'), earlier: () => earlier };
  const send = async (settledAt: readonly number[], rest?: string) => {
    const context = {
      deliveryId: 'd',
      http: noHttp,
      dial: noDial,
      clock: systemClock,
      logFolder: '/nowhere',
    };
    return wherever(target, settledAt).send([alarm], {
      ...context,
      ...(rest !== undefined && { rest }),
      secretOf: () => undefined,
      signal: new AbortController().signal,
    });
  };
  return { sent, target, send };
}

test.each([
  ['before the first change', [500], ['a']],
  ['between two changes', [1500], ['b']],
  ['after the last', [2500], ['now']],
  ['so soon after a change that the attempt may have begun before', [1050], ['a', 'b']],
  ['before and after, with a reminder', [500, 2500], ['a', 'now']],
  ['at no time that is known', [], ['now']],
])(
  'the end of an alarm that was settled %s goes where that was sent: %j, %j',
  async (_, settledAt, places) => {
    const { sent, send } = bench();
    expect(await send(settledAt)).toEqual(SENT);
    expect(sent).toEqual(places);
  },
);

test('an end that goes to several places is tried again only where it did not arrive', async () => {
  const { sent, send } = bench({ b: [LATER] });
  const first = await send([500, 1500, 2500]);
  expect(first).toMatchObject({ ...LATER, rest: expect.any(String) });
  const rest = first.kind === 'retry' ? first.rest : undefined;
  expect(await send([500, 1500, 2500], rest)).toEqual(SENT);
  expect(sent).toEqual(['a', 'b', 'b', 'now']);
});

test('a place that refuses the end keeps it from no other, and is named', async () => {
  expect(await bench({ a: [REFUSED] }).send([500, 2500])).toEqual({
    kind: 'sent',
    except: 'taken elsewhere; by its settings of before: no such key',
  });
  expect(await bench({ a: [REFUSED] }).send([500])).toEqual({
    ...REFUSED,
    reason: 'by its settings of before: no such key',
  });
});

test('what earlier settings hide is hidden as well', () => {
  const { target } = bench();
  expect(wherever(target, [500]).referredTexts).toContain('key-of-a');
  expect(wherever(target, [2500])).toBe(target);
});
