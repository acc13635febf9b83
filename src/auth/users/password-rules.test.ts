import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { cpuMsOf } from '../../../test/helpers/cpu-time.ts';
import { assertGoodPassword, isCommonPassword } from './password-rules.ts';

describe('common passwords', () => {
  it.each([
    'password',
    'Password2024!',
    'P@ssw0rd123456789',
    'passwordpassword',
    'password-password-1',
    'qwertyuiopasdfghjkl',
    '1qaz2wsx3edc4rfv',
    'aaaaaaaaaaaaaaaaaaaa',
    '1234567890123456',
    'abcabcabcabcabcabc',
    'abcdefghijklmnopqrst',
    'Welcome to Headgate 2026',
    'headgate-headgate-headgate',
    'AdminAdminAdmin1',
    'changeme-changeme',
    '111111222222333333',
    'iloveyouiloveyou1999',
    'Summer2025Summer2025',
    '                    ',
    '!!!!!!!!!!!!!!!!!!!!',
  ])('include %j', password => expect(isCommonPassword(password)).toBe(true));

  it.each([
    'correct horse battery staple',
    'violet-giraffes-mend-9-clocks',
    'seven quiet otters paint a bridge',
    'xkq7-mm2p-zzr4-wvt9',
    'to be changed at the first login',
    'Мороз и солнце; день чудесный',
    '🦊 runs past the 🏰 at dusk',
  ])('do not include %j', password => expect(isCommonPassword(password)).toBe(false));

  it('are found in a moment, however long a text is sent', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 256, unit: 'grapheme' }), async text => {
        expect(await cpuMsOf(() => isCommonPassword(text.repeat(3).slice(0, 512)))).toBeLessThan(500);
      }),
      { numRuns: 200 },
    );
  });
});

test.each([
  ['fourteen chars', 'at least 15'],
  ['x1'.repeat(200), 'at most 256'],
  ['my name is Ann.Lee ok', 'user name'],
  ['half a pair \ud800 in it', 'well-formed'],
  ['password password', 'too common'],
  ['éèüäöåñçêôîûâë'.normalize('NFD'), 'at least 15'],
])('%j may not become the password of ann.lee', (password, reason) => {
  expect(() => assertGoodPassword(password, 'ann.lee')).toThrow(
    expect.objectContaining({ code: 'invalid-request', message: expect.stringContaining(reason) }),
  );
});

test.each([
  'violet giraffes mend',
  '🔑🦊🏰🚲🌵🍋🎻🧭🪁🐙🌋🧶🛶🎈🪴',
  'a'.repeat(8).concat(' quite odd mixture'),
])('%j may become the password of ann.lee', password =>
  expect(() => assertGoodPassword(password, 'ann.lee')).not.toThrow(),
);
