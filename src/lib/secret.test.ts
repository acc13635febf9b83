import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { MASK, Secret } from './secret.ts';

it('prints as its mask wherever it is joined, serialised, inspected or thrown', () => {
  const secret = new Secret('hunter2-hunter2');
  const shown = [
    `${secret}`,
    String(secret),
    JSON.stringify({ deep: [secret] }),
    inspect({ deep: { secret } }, { depth: 9, showHidden: true }),
    new Error(`refused: ${secret}`).message,
    Object.values({ ...secret }).join(),
  ];
  for (const text of shown) expect(text).not.toContain('hunter2');
  expect(shown[0]).toBe(MASK);
});

it('shows its value to whoever asks by name', () => {
  expect(new Secret('hunter2').reveal()).toBe('hunter2');
});
