import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { anyEvent } from '../../../test/helpers/any-event.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { bulletinMessage } from './bulletin-message.ts';

const event: HeadgateEvent = {
  id: 'e1',
  status: 'ALARM',
  condition: 'no-data',
  cribl_notification: 'app_silent',
  incidentId: 'i1',
  severity: 'warn',
  _raw: 'Source syslog:app had no data for 60s',
  _time: 1_706_747_300,
  starttime: 1_706_747_240,
  endtime: 1_706_747_300,
};

const warnings: string[] = [];
beforeEach(() => void warnings.splice(0));

function configure(settings: Readonly<Record<string, unknown>> = {}) {
  const target = bulletinMessage.configure({ id: 'bell', type: 'bulletin_message', ...settings });
  const bulletinText = (of: HeadgateEvent) =>
    target.bulletinText(of, {
      warn: reason => void warnings.push(reason),
      knownFields: new Set(['bytes']),
    });
  return { ...target, bulletinText };
}

test('the text is the event as it is, or the rendered message', () => {
  expect(configure().bulletinText(event)).toBe(event._raw);
  expect(configure({ message: '${severity}: ${cribl_notification} is ${status}' }).bulletinText(event)).toBe(
    'warn: app_silent is ALARM',
  );
});

test('system fields are lines below the text, and the title is as it is set', () => {
  expect(configure().bulletinText({ ...event, cribl_host: 'gate', cribl_pipe: 'edge' })).toBe(
    `${event._raw}\ncribl_host: gate\ncribl_pipe: edge`,
  );
  expect(configure({ title: 'Shop' }).bulletinTitle).toBe('Shop');
});

test.each([
  ['${note.none.trim()}', /^message: at place 1: /],
  ['a long story ${status}, ${none.toUpperCase()}', /^message: at place 2: /],
  ['${note}', /^message: it gives an empty text/],
])('a message that fails or is empty falls back to the text of the event: %s', (message, warning) => {
  expect(configure({ message }).bulletinText({ ...event, cribl_host: 'gate', note: ' \n' })).toBe(
    `${event._raw}\ncribl_host: gate`,
  );
  expect(warnings).toEqual([expect.stringMatching(warning)]);
});

test('an unknown variable is empty text, and is warned of once for a target; fields that an event may have are not', () => {
  const message = '${status}: ${team}${bytes}';
  const target = configure({ message });
  for (const _ of [1, 2]) expect(target.bulletinText(event)).toBe('ALARM: ');
  const warning = "message: unknown variable 'team'; it is empty text";
  expect(warnings).toEqual([warning]);
  configure({ message }).bulletinText(event);
  expect(warnings).toEqual([warning, warning]);
});

test('no more than a hundred unknown variables are warned of', () => {
  const message = `of\${status}${Array.from({ length: 150 }, (_, n) => `\${v${n}}`).join('')}`;
  expect(configure({ message }).bulletinText(event)).toBe('ofALARM');
  expect(warnings).toHaveLength(100);
});

test('settings show the message as it was written', () => {
  expect(JSON.parse(JSON.stringify(configure().settings))).toMatchObject({ message: '${_raw}' });
});

test('a message that cannot be rendered is refused with its place', () => {
  expect(() => configure({ message: 'a ${b = c}' })).toThrow(
    expect.objectContaining({
      issues: [
        expect.objectContaining({ path: ['message'], message: expect.stringContaining('at character 5') }),
      ],
    }),
  );
});

test('whatever an event holds, the text is not empty and no longer than a message may be', () => {
  const messages = ['${_raw}', '${description}', '${_raw}${__e}${key}'.repeat(50), '${none.trim()}'];
  fc.assert(
    fc.property(anyEvent, fc.constantFrom(...messages), (of, message) => {
      const target = bulletinMessage.configure({ id: 'bell', type: 'bulletin_message', message });
      const text = target.bulletinText(of, { warn: () => {} }) ?? '';
      const lines = [of.cribl_host, of.cribl_pipe].filter(value => value !== undefined).join('');
      expect(Buffer.byteLength(text)).toBeLessThan(64 * 1024 + Buffer.byteLength(lines) + 100);
      if (/\S/u.test(of._raw)) expect(text).toMatch(/\S/u);
    }),
    { numRuns: 100 },
  );
});
