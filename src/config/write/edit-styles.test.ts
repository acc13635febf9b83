import fc from 'fast-check';
import { dump } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { configurationOf } from '../../../test/helpers/config-folder.ts';
import { effectiveText } from '../check-files.ts';

describe('generated configurations', () => {
  const id = fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/).filter(text => text !== '__proto__');
  const text = fc.string({ maxLength: 30, unit: 'grapheme' });
  const duration = fc.integer({ min: 60, max: 5000 }).map(seconds => `${seconds}s`);
  const target = fc.oneof(
    fc.record(
      { type: fc.constant('webhook'), url: fc.webUrl(), description: text },
      { requiredKeys: ['type', 'url'] },
    ),
    fc.record({ type: fc.constant('bulletin_message'), description: text }, { requiredKeys: ['type'] }),
  );
  const notification = (targets: readonly string[]) =>
    fc.record(
      {
        condition: fc.constant('no-data'),
        disabled: fc.boolean(),
        targets: fc.subarray([...targets]),
        conf: fc.record(
          { name: text.filter(name => name !== ''), timeWindow: duration, notifyOnResolution: fc.boolean() },
          { requiredKeys: ['name'] },
        ),
        description: text,
        severity: fc.constantFrom('info', 'warn', 'error', 'fatal'),
        for: duration,
        repeatInterval: duration,
      },
      { requiredKeys: ['condition', 'conf'] },
    );
  const whole = fc.uniqueArray(id, { maxLength: 5 }).chain(ids =>
    fc.record({
      targets: fc
        .tuple(...ids.map(() => target))
        .map(items => items.map((item, index) => [ids[index] ?? '', item] as const)),
      notifications: fc.uniqueArray(fc.tuple(id, notification(ids)), {
        selector: ([key]) => key,
        maxLength: 5,
      }),
    }),
  );

  it('load to the same from lists and from maps, and again from what is effective', () => {
    fc.assert(
      fc.property(whole, ({ targets, notifications }) => {
        const list = dump({
          targets: targets.map(([key, item]) => ({ id: key, ...item })),
          notifications: notifications.map(([key, item]) => ({ id: key, ...item })),
        });
        const map = dump({
          targets: Object.fromEntries(targets),
          notifications: Object.fromEntries(notifications),
        });
        const fromList = JSON.parse(effectiveText(configurationOf({ notifications: list }), 'json'));
        const fromMap = JSON.parse(effectiveText(configurationOf({ notifications: map }), 'json'));
        const again = configurationOf({ notifications: dump(fromList['notifications.yml']) });
        expect(sorted(fromMap)).toEqual(sorted(fromList));
        expect(JSON.parse(effectiveText(again, 'json'))).toEqual(fromList);
      }),
      { numRuns: 60 },
    );
  });

  /** Keys that look like numbers come first in a map, so order is left out of account. */
  const sorted = ({
    'notifications.yml': lists,
  }: {
    'notifications.yml': Record<string, { id: string }[]>;
  }) => Object.values(lists).map(items => [...items].sort((a, b) => (a.id < b.id ? -1 : 1)));
});
