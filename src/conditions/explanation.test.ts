import { expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { testComponents } from '../../test/helpers/components.ts';
import type { PipelineState } from '../pipelines/components/component.ts';
import type { Explanation } from './condition.ts';
import { type AlertingRule, conditions } from './index.ts';

const clock = testClock();
const components = testComponents(clock);
const component = components.add('app');
const UNREAD: PipelineState = {
  ...{ id: 'edge', engine: 'vector', group: 'default', mode: 'pull', url: null, state: 'unreachable' },
  ...{ lastAt: 0, unreachableSince: 0, error: 'refused', unrecognised: null, uncounted: null },
  ...{ readings: 5, unreachedMs: 10_000, instances: 1, components: 1, bytesPerEvent: null },
};

function explanationOf(rule: AlertingRule): Explanation {
  const open = undefined;
  const now = clock.now();
  switch (rule.source) {
    case 'component': {
      const subject = { key: 'edge/app', name: 'vector:app', group: 'default', component, declaredMs: 0 };
      return rule.explain({ subject, components, open });
    }
    case 'pipeline':
      return rule.explain({ subject: UNREAD, now, open });
    case 'expiry':
      return rule.explain({ subject: { kind: rule.kind, key: 'server', expiresAt: now + 9e9 }, now, open });
    case 'heartbeat': {
      const state = {
        key: 'backup',
        lastAt: null,
        silentMs: 5,
        sinceReceivedMs: undefined,
        hasFailed: false,
      };
      return rule.explain({ ...state, open });
    }
    case 'external':
      return rule.explain('key');
  }
}

it.each(conditions)(
  '$id explains itself: by numbers with their limits, and with the alarm that follows',
  condition => {
    const explanation = explanationOf(condition.configure(condition.example.conf ?? {}));
    const { facts, provided, alarmInMs, alarm } = explanation;
    expect(provided).not.toBe('');
    expect(alarmInMs).toBeGreaterThanOrEqual(0);
    expect(alarm().text).not.toBe('');
    // Only the senders of external events have numbers.
    if (condition.source === 'external') return;
    expect(facts).not.toEqual([]);
    for (const { name, value, unknown } of facts) {
      expect(name).not.toBe('');
      if (value === undefined) expect(unknown, `why ${name} is not known`).toEqual(expect.any(String));
    }
    if (condition.id !== 'expression' && facts.some(({ value }) => value !== undefined))
      expect(facts.some(({ alarm: limit }) => limit !== undefined)).toBe(true);
  },
);
