import { expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { testComponents } from '../../test/helpers/components.ts';
import type { Component } from '../pipelines/components/component.ts';
import type { IncidentSpan } from '../storage/stores/incidents.ts';
import { openSecondsOf } from './subjects.ts';

const HOUR = Date.UTC(2026, 0, 1, 10);
const span = { from: HOUR, until: HOUR + 3_600_000 };
const at = (minute: number): number => HOUR + minute * 60_000;

const app = testComponents(testClock()).add('app');
const outOfSameName: Component = { ...app, kind: 'output' };

const incident = (facts: Partial<IncidentSpan> = {}): IncidentSpan => ({
  id: 'i',
  condition: 'no-data',
  subject: 'edge/syslog:app',
  opened_at: at(10),
  closed_at: at(20),
  ...facts,
});
const secondsOf = (...incidents: IncidentSpan[]) => openSecondsOf(incidents, [app, outOfSameName], span);

it('counts the time in which several incidents are open once, and none before or after the span', () => {
  const open = secondsOf(
    incident({ opened_at: at(-60), closed_at: at(5) }),
    incident(),
    incident({ condition: 'low-volume', opened_at: at(15), closed_at: at(30) }),
    incident({ opened_at: at(55), closed_at: null }),
  );
  expect([...open]).toEqual([[app, (5 + 20 + 5) * 60]]);
});

it('knows an input from an output of the same name by the condition', () => {
  expect([...secondsOf(incident({ condition: 'no-data-dest' })).keys()]).toEqual([outOfSameName]);
  const either = { condition: 'expression' };
  expect([...secondsOf(incident(either)).keys()]).toEqual([outOfSameName]);
  expect([...secondsOf(incident({ ...either, subject: 'edge/input/syslog:app' })).keys()]).toEqual([app]);
});

it('leaves out incidents that are on no component', () => {
  const others = [
    incident({ condition: 'pipeline-unreachable', subject: 'edge' }),
    incident({ subject: '*/syslog:app' }),
    incident({ condition: 'search' }),
    incident({ condition: 'unknown' }),
  ];
  expect([...secondsOf(...others)]).toEqual([]);
  expect([...secondsOf()]).toEqual([]);
});
