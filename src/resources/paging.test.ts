import { expect, it } from 'vitest';
import * as z from 'zod';
import { pageQuery } from './paging.ts';

it.each(['abc', '', '0', '1.5', '1001', '-1', ['1', '2']])('says of a limit %j what it must be', limit => {
  const { error } = z.object(pageQuery).safeParse({ limit });
  expect(error?.issues[0]?.message).toBe('must be a whole number from 1 to 1000');
});

it('reads numbers as a query holds them', () => {
  expect(z.object(pageQuery).parse({ limit: '20', offset: '40' })).toEqual({ limit: 20, offset: 40 });
  expect(z.object(pageQuery).parse({})).toEqual({ offset: 0 });
});
