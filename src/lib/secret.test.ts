import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { DatabaseUrl, isMask, MASK, Secret, SecretUrl } from './secret.ts';

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

it('shows its value to a caller of reveal()', () => {
  expect(new Secret('hunter2').reveal()).toBe('hunter2');
});

it('shows of an address that is a key no more than where it leads', () => {
  const url = new SecretUrl('https://hooks.example:8443/services/T0/hunter2?a=hunter2#hunter2');
  for (const text of [`${url}`, JSON.stringify(url).slice(1, -1), inspect(url)])
    expect(text).toBe(`https://hooks.example:8443/${MASK}`);
  expect(url.reveal()).toContain('hunter2');
});

it('shows of the address of a database all but the password', () => {
  const url = new DatabaseUrl('postgres://gate:hunter2@db.example:6432/gates?sslmode=require');
  for (const text of [`${url}`, JSON.stringify(url).slice(1, -1), inspect(url)])
    expect(text).toBe(`postgres://gate:${MASK}@db.example:6432/gates?sslmode=require`);
  expect(url.reveal()).toContain('hunter2');
  expect(`${new DatabaseUrl('postgres://gate@db.example/gates')}`).toBe('postgres://gate@db.example/gates');
});

it('knows what a read shows in place of a secret when it is sent back', () => {
  for (const text of [
    MASK,
    `${new Secret('x')}`,
    `${new SecretUrl('http://h.example/key')}`,
    `${new DatabaseUrl('postgresql://u:p@h/d')}`,
  ])
    expect(isMask(text)).toBe(true);
  for (const text of [
    '',
    'hunter2',
    '*******',
    `a${MASK}`,
    'https://h.example/key',
    `https://h.example/a/${MASK}`,
    'postgres://u:hunter2@h/d',
    'postgres://u@h/d',
  ])
    expect(isMask(text)).toBe(false);
});
