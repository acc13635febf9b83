import { expect, test } from 'vitest';
import { findTargetType, targetTypes } from './index.ts';

test('a type is found by what the file says, and an unknown one is not', () => {
  for (const type of targetTypes) expect(findTargetType(type.type)).toBe(type);
  expect(findTargetType('webhook')?.type).toBe('webhook');
  expect(findTargetType('carrier_pigeon')).toBeUndefined();
});

test('every type takes the common settings and refuses unknown ones', () => {
  for (const type of targetTypes) {
    const raw = {
      id: 'a',
      type: type.type,
      description: 'why',
      systemFields: ['c*'],
      url: 'http://x.example/',
    };
    const { url: _, ...plain } = raw;
    const settings = type.configure(type.type === 'webhook' ? raw : plain).settings;
    expect(settings).toMatchObject({ id: 'a', type: type.type, description: 'why', systemFields: ['c*'] });
    expect(type.schema.safeParse({ ...raw, nonsense: 1 }).success).toBe(false);
  }
});
