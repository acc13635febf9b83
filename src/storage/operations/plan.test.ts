import { expect, it } from 'vitest';
import { assignmentsOf, insertText, statement } from './plan.ts';

it('binds parameters by their names, wherever and how often they stand', () => {
  const update = statement('update t set b = :b, a = :a where workspace = :workspace and a <> :a');
  expect(update('default', { a: 1, b: null, unused: 'c' })).toEqual({
    sql: 'update t set b = ?, a = ? where workspace = ? and a <> ?',
    parameters: [null, 1, 'default', 1],
  });
});

it('refuses a parameter without a value', () => {
  expect(() => statement('delete from t where id = :id')('default', {})).toThrow("':id' has no value");
});

it('writes the columns of a row, whatever their order', () => {
  const insert = statement(insertText('t', ['id', 'a']));
  expect(insert('default', { a: 'x', id: 'i' })).toEqual({
    sql: 'insert into t (workspace, id, a) values (?, ?, ?)',
    parameters: ['default', 'i', 'x'],
  });
  expect(assignmentsOf(['id', 'a', 'b'])).toBe('a = :a, b = :b');
});
