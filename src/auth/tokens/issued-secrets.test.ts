import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Secret } from '../../lib/secret.ts';
import { createIssuedSecrets } from './issued-secrets.ts';

const FORM = /^hgx_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/;
const secrets = createIssuedSecrets('hgx', new Secret('pepper'));
const made = fc.constant(undefined).map(() => secrets.make().reveal());
const character = fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_');

it('is recognisable, never twice the same, and prints as its mask', () => {
  const many = Array.from({ length: 500 }, () => secrets.make());
  for (const secret of many) {
    expect(secret.reveal()).toMatch(FORM);
    expect(secrets.isMalformed(secret.reveal())).toBe(false);
    expect(`${secret}${JSON.stringify(secret)}`).not.toContain('hgx');
  }
  expect(new Set(many.map(secret => secret.reveal())).size).toBe(many.length);
});

it('uses every character about equally often', () => {
  const counts = new Map<string, number>();
  for (let round = 0; round < 2000; round++)
    for (const one of secrets.make().reveal().slice(4, 47)) counts.set(one, (counts.get(one) ?? 0) + 1);
  expect(counts.size).toBe(62);
  const expected = (2000 * 43) / 62;
  for (const count of counts.values()) {
    expect(count).toBeGreaterThan(expected * 0.8);
    expect(count).toBeLessThan(expected * 1.2);
  }
});

it('refuses every single character that is another one', () => {
  fc.assert(
    fc.property(made, fc.nat(), character, (secret, place, other) => {
      const at = 4 + (place % (secret.length - 4));
      fc.pre(secret[at] !== other);
      expect(secrets.isMalformed(secret.slice(0, at) + other + secret.slice(at + 1))).toBe(true);
    }),
  );
});

it('refuses two neighbours that changed places, and what was cut, doubled or given a space', () => {
  fc.assert(
    fc.property(made, fc.nat(), (secret, place) => {
      const at = 4 + (place % (secret.length - 5));
      const [one = '', other = ''] = [secret[at], secret[at + 1]];
      const swapped = secret.slice(0, at) + other + one + secret.slice(at + 2);
      if (one !== other) expect(secrets.isMalformed(swapped)).toBe(true);
      for (const wrong of [secret.slice(0, at), secret + secret, `${secret} `, `${secret}\n`])
        expect(secrets.isMalformed(wrong)).toBe(true);
    }),
  );
});

it('says nothing of a text that begins otherwise, whatever it is', () => {
  fc.assert(
    fc.property(fc.string(), text => {
      fc.pre(!text.startsWith('hgx_'));
      expect(secrets.isMalformed(text)).toBe(false);
    }),
  );
  expect(secrets.isMalformed(createIssuedSecrets('hgy', new Secret('pepper')).make().reveal())).toBe(false);
});

it('is kept as what nobody can check without the pepper', () => {
  fc.assert(
    fc.property(made, fc.string({ minLength: 1 }), (secret, pepper) => {
      const digest = createIssuedSecrets('hgx', new Secret(pepper)).digestOf(secret);
      expect(digest).toBe(createHmac('sha256', pepper).update(secret).digest('base64url'));
      if (pepper !== 'pepper') expect(secrets.digestOf(secret)).not.toBe(digest);
    }),
  );
});
