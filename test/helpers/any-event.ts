import fc from 'fast-check';
import type { HeadgateEvent } from '../../src/events/event.ts';
import { RESERVED_FIELDS } from '../../src/events/system-fields.ts';

/** Texts as senders and metadata make them: any Unicode, halves of characters, what markup means, long ones. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ maxLength: 40 }).map(text => `<!channel> & <b>${text}</b>\r\n|*_~\``),
  fc.array(fc.nat({ max: 0xffff }), { maxLength: 20 }).map(codes => String.fromCharCode(...codes)),
  fc
    .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 5 }), fc.nat({ max: 4000 }))
    .map(([text, times]) => text.repeat(times)),
);

const address = fc.oneof(
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc.constantFrom(
    'javascript:alert(1)',
    'https://a.example/x|y>z<&"',
    'no address',
    `https://a.example/${'x'.repeat(5000)}`,
  ),
  // As long as some receivers just take them, and longer once they are written as those want them.
  fc
    .tuple(fc.constantFrom('x', '&', '|', 'ü', '%', '<'), fc.nat({ max: 2100 }))
    .map(([character, length]) => `https://a.example/?${character.repeat(length)}`),
);

const fields = fc.dictionary(
  fc
    .string({ unit: 'binary', minLength: 1, maxLength: 20 })
    .filter(name => !RESERVED_FIELDS.includes(name) && !name.startsWith('__')),
  fc.oneof(anyText, fc.double(), fc.boolean(), fc.jsonValue(), fc.constant(null)),
  { maxKeys: 8 },
);

/** Any event that could ever reach a target. */
export const anyEvent: fc.Arbitrary<HeadgateEvent> = fc
  .record(
    {
      id: fc.uuid(),
      status: fc.constantFrom('ALARM', 'OK'),
      condition: fc.constantFrom('no-data', 'search'),
      cribl_notification: fc.stringMatching(/^[a-zA-Z0-9_-]{1,512}$/),
      incidentId: fc.uuid(),
      severity: fc.constantFrom('info', 'warn', 'error', 'fatal'),
      _raw: anyText,
      _time: fc.integer({ min: 0, max: 10_000_000_000 }),
      starttime: fc.integer({ min: 0, max: 10_000_000_000 }),
      endtime: fc.integer({ min: 0, max: 10_000_000_000 }),
      input: anyText,
      key: anyText,
      description: anyText,
      runbookUrl: address,
      incidentUrl: address,
      silenceUrl: address,
      cribl_host: anyText,
      cribl_pipe: anyText,
    },
    {
      requiredKeys: [
        'id',
        'status',
        'condition',
        'cribl_notification',
        'incidentId',
        'severity',
        '_raw',
        '_time',
        'starttime',
        'endtime',
      ],
    },
  )
  .chain(event => fields.map((more): HeadgateEvent => ({ ...more, ...event })));

/** An alarm as the references have it. */
export const alarm: HeadgateEvent = {
  id: 'e1',
  status: 'ALARM',
  condition: 'no-data',
  cribl_notification: 'app_silent',
  input: 'syslog:app',
  incidentId: '0192f0c1-7a00-7000-8000-000000000001',
  incidentUrl: 'https://headgate.example/#/incidents/0192f0c1-7a00-7000-8000-000000000001',
  silenceUrl:
    'https://headgate.example/silences/new?matcher=cribl_notification%3Dapp_silent&matcher=input%3Dsyslog%3Aapp',
  severity: 'warn',
  description: 'The application of the shop.',
  runbookUrl: 'https://wiki.example/app-silent?a=1&b=2',
  _raw: 'Source syslog:app had no data for 60s',
  _time: 1_706_747_300,
  starttime: 1_706_747_240,
  endtime: 1_706_747_300,
  cribl_host: 'headgate',
};
