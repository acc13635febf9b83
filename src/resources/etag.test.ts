import { describe, expect, it } from 'vitest';
import { assertMatches, etagOf } from './etag.ts';

const settings = { id: 'a', conf: { name: 'x', list: [1, 2] } };
const tag = etagOf(settings);

describe('a tag', () => {
  it('is 22 characters in quotes, the same in whatever order keys stand', () => {
    expect(tag).toMatch(/^"[\w-]{22}"$/);
    expect(etagOf({ conf: { list: [1, 2], name: 'x' }, id: 'a' })).toBe(tag);
  });

  it('changes with every value, and with the order of a list', () => {
    const others = [
      { ...settings, id: 'b' },
      { ...settings, more: null },
      { ...settings, conf: { ...settings.conf, list: [2, 1] } },
    ];
    expect(new Set([tag, ...others.map(etagOf)]).size).toBe(4);
  });
});

describe('If-Match', () => {
  it.each([undefined, '*', ' * ', tag, `"other", ${tag}`, `${tag},"other"`, `W/"x" ,${tag}`])(
    'allows %s',
    ifMatch => {
      expect(() => assertMatches(ifMatch, settings)).not.toThrow();
    },
  );

  it.each(['"other"', '""', `W/${tag}`, `"a", "b"`, tag.toLowerCase()])('refuses %s', ifMatch => {
    expect(() => assertMatches(ifMatch, settings)).toThrow(
      expect.objectContaining({ code: 'precondition-failed' }),
    );
  });

  it.each(['', 'x', tag.slice(1), `${tag}${tag}`, `${tag},`, '*, "a"'])('does not understand %s', ifMatch => {
    expect(() => assertMatches(ifMatch, settings)).toThrow(
      expect.objectContaining({ code: 'invalid-request' }),
    );
  });
});
