import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { noData } from '../conditions/no-data.ts';
import type { Component } from '../pipelines/components/component.ts';
import { createComponentMatcher, keyParts, subjectOf } from './subjects.ts';

const component = (engineId: string, type = 'syslog', group = 'default'): Component => ({
  group,
  pipeline: 'edge',
  engine: 'vector',
  kind: 'input',
  type,
  engineId,
  id: engineId.replace(/[^a-zA-Z0-9_-]/g, '_'),
});

const matches = (name: string, one: Component, group?: string): boolean =>
  createComponentMatcher(
    noData.configure({ name, ...(group && { __workerGroup: group }) }).conf,
    'input',
  )(one);

it.each([
  ['syslog:app', true],
  ['app', true],
  ['syslog:*', true],
  ['*', true],
  ['*:a*p', true],
  ['s*g:*pp', true],
  ['syslog:ap', false],
  ['tcp:app', false],
  ['APP', false],
  ['*x*', false],
  ['app*app', false],
])('%s matches syslog:app: %s', (name, expected) => {
  expect(matches(name, component('app'))).toBe(expected);
});

it('finds a component by its resource id as well as by the id its engine uses', () => {
  const one = component('otlp/app.1', 'otlp');
  expect(matches('otlp:otlp/app.1', one)).toBe(true);
  expect(matches('otlp:otlp_app_1', one)).toBe(true);
  expect(matches('otlp_app_1', one)).toBe(true);
});

it('looks only into the group it names', () => {
  expect(matches('app', component('app', 'syslog', 'west'), 'west')).toBe(true);
  expect(matches('app', component('app', 'syslog', 'east'), 'west')).toBe(false);
});

it('never evaluates an input condition on an output', () => {
  expect(matches('app', { ...component('app'), kind: 'output' })).toBe(false);
});

it('distinguishes pipeline and name in a key, whatever the name holds', () => {
  const { key } = subjectOf(component('otlp/app', 'otlp'));
  expect(keyParts(key)).toEqual({ pipeline: 'edge', name: 'otlp:otlp/app' });
});

it('reads a pattern as a naive regular expression does', () => {
  const letters = fc.stringMatching(/^[ab*]{1,8}$/);
  fc.assert(
    fc.property(letters, fc.stringMatching(/^[ab]{1,10}$/), (glob, text) => {
      const naive = new RegExp(`^${glob.replace(/\*+/g, '.*')}$`);
      const one = component(text, 'x');
      const expected = [`x:${text}`, text].some(name => naive.test(name));
      expect(matches(glob, one)).toBe(expected);
    }),
    { numRuns: 2000 },
  );
});
