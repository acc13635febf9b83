import { beforeEach, expect, test } from 'vitest';
import { alarm } from '../../../test/helpers/any-event.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import type { ExpressionPlace } from '../../expressions/warnings.ts';
import { findTargetType } from '../index.ts';
import { resolveRoutes, type Target } from '../target.ts';

const configured = (settings: { readonly type: string; readonly [key: string]: unknown }): Target => {
  const target = findTargetType(settings.type)?.configure(settings);
  if (target === undefined) throw new Error(`there is no type ${settings.type}`);
  return target;
};

const log = (id: string): Target => configured({ id, type: 'notifications_log' });
const router = (id: string, routes: readonly object[]): Target => configured({ id, type: 'router', routes });

function world(...targets: readonly Target[]): ReadonlyMap<string, Target> {
  return new Map([log('a'), log('b'), log('c'), ...targets].map(target => [target.settings.id, target]));
}

const warned: [ExpressionPlace, string][] = [];
beforeEach(() => void warned.splice(0));

const reached = (ids: readonly string[], event: HeadgateEvent, targets: ReadonlyMap<string, Target>) =>
  resolveRoutes(ids, event, targets, { warn: (place, reason) => void warned.push([place, reason]) });

const ROUTES = [
  { filter: "severity == 'fatal'", output: 'a' },
  { filter: "cribl_notification == 'app_silent'", output: 'b', final: false },
  { filter: 'true', output: 'c' },
  { filter: 'true', output: 'a' },
];

test.each([
  [{}, ['b', 'c']],
  [{ severity: 'fatal' as const }, ['a']],
  [{ cribl_notification: 'other' }, ['c']],
])('routes are tried in their order up to the first that is final: with %j to %j', (fields, ids) => {
  const targets = world(router('r', ROUTES));
  expect(reached(['r'], { ...alarm, ...fields }, targets)).toEqual(ids);
});

test('a router may lead to routers, and reaches no target twice', () => {
  const targets = world(
    router('r', [
      { filter: 'true', output: 'inner', final: false },
      { filter: 'true', output: 'a' },
    ]),
    router('inner', [
      { filter: 'true', output: 'b', final: false },
      { filter: 'true', output: 'a' },
    ]),
  );
  expect(reached(['a', 'r', 'c'], alarm, targets)).toEqual(['a', 'b', 'c']);
});

test('where no route is taken, or leads nowhere, no target is reached', () => {
  const targets = world(router('r', [{ filter: "severity == 'info'", output: 'a' }]));
  expect(reached(['r'], alarm, targets)).toEqual([]);
  expect(reached(['r'], alarm, world(router('r', [{ filter: 'true', output: 'gone' }])))).toEqual([]);
});

test('routers that lead to each other come to an end', () => {
  const targets = world(
    router('r', [{ filter: 'true', output: 's' }]),
    router('s', [
      { filter: 'true', output: 'r', final: false },
      { filter: 'true', output: 'a' },
    ]),
  );
  expect(reached(['r'], alarm, targets)).toEqual(['a']);
});

test('a default target leads to the one it names', () => {
  const targets = world(configured({ id: 'default', type: 'default', defaultId: 'b' }));
  expect(reached(['default'], alarm, targets)).toEqual(['b']);
});

test('a filter is an expression, and does not match an event for which it cannot be evaluated', () => {
  const targets = world(
    router('r', [
      { filter: 'tags.some(tag => tag == "shop")', output: 'a' },
      { filter: "input.startsWith('syslog:') && bytes < 10", output: 'b' },
      { filter: 'true', output: 'c' },
    ]),
  );
  expect(reached(['r'], { ...alarm, tags: ['shop'] }, targets)).toEqual(['a']);
  expect(warned).toEqual([]);
  expect(reached(['r'], { ...alarm, bytes: 3 }, targets)).toEqual(['b']);
  expect(reached(['r'], alarm, targets)).toEqual(['c']);
  const warning = expect.stringMatching(/^routes\[0\]\.filter: .* not taken$/);
  expect(warned).toEqual([1, 2].map(() => [{ target: 'r' }, warning]));
});

test('a filter that cannot be read is refused with its place', () => {
  expect(() => router('r', [{ filter: 'severity ==', output: 'a' }])).toThrow(
    expect.objectContaining({ issues: [expect.objectContaining({ path: ['routes', 0, 'filter'] })] }),
  );
});

test('a route is taken in its active windows alone, by the time of the event', () => {
  const targets = world(
    router('r', [
      { filter: 'true', output: 'a', activeWindows: [{ times: ['22:00-06:00'] }, { weekdays: ['sun'] }] },
      { filter: 'true', output: 'b' },
    ]),
  );
  const at = (time: string) => reached(['r'], { ...alarm, _time: Date.parse(time) / 1000 }, targets);
  expect(at('2026-01-02T23:00:00Z')).toEqual(['a']);
  expect(at('2026-01-03T05:59:59Z')).toEqual(['a']);
  expect(at('2026-01-03T06:00:00Z')).toEqual(['b']);
  expect(at('2026-01-04T12:00:00Z')).toEqual(['a']);
});
