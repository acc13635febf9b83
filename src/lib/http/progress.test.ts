import fc from 'fast-check';
import { expect, it } from 'vitest';
import { InterimAnswers } from './progress.ts';

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\nHTTP/1.1 100';
const CONTINUE = 'HTTP/1.1 100 Continue\r\nx: HTTP/1.1 100\r\n\r\n';
const HINTS = 'HTTP/1.1 103 Early Hints\r\n\r\n';

function rewritten(text: string, cuts: readonly number[]): string {
  const interim = new InterimAnswers();
  interim.restart();
  const bytes = Buffer.from(text, 'latin1');
  const places = [...new Set(cuts.map(cut => cut % bytes.length))].sort((a, b) => a - b);
  for (const [index, place] of [0, ...places].entries())
    interim.rewrite(bytes.subarray(place, [...places, bytes.length][index]));
  return bytes.toString('latin1');
}

it('makes 102 of each 100 that comes before the answer, in whatever pieces, and changes nothing else', () => {
  const before = fc.array(fc.constantFrom(CONTINUE, HINTS), { maxLength: 4 });
  fc.assert(
    fc.property(before, fc.array(fc.nat()), (interim, cuts) => {
      const expected = interim.map(one => (one === CONTINUE ? one.replace('100', '102') : one));
      expect(rewritten([...interim, OK].join(''), cuts)).toBe([...expected, OK].join(''));
    }),
  );
});

it.each(['SSH-2.0-OpenSSH\r\n 100', 'HTTP/1.1 500 100', 'HTTP/2 100', '\r\n\r\nHTTP/1.1 100 Continue'])(
  'leaves %j alone, which is no interim answer',
  text => {
    expect(rewritten(text, [3])).toBe(text);
  },
);

it('looks for none behind the answer to a request, and again once the next one begins', () => {
  const interim = new InterimAnswers();
  const read = (text: string): string => {
    const bytes = Buffer.from(text);
    interim.rewrite(bytes);
    return bytes.toString();
  };
  expect(read(CONTINUE)).toBe(CONTINUE);
  interim.restart();
  expect(read(OK)).toBe(OK);
  expect(read(CONTINUE)).toBe(CONTINUE);
  interim.restart();
  expect(read(CONTINUE)).toBe(CONTINUE.replace('100', '102'));
});
