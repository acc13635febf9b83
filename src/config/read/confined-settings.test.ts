import { describe, expect, it, test } from 'vitest';
import * as z from 'zod';
import { pipelineSchema } from '../../pipelines/settings.ts';
import { FILES } from '../configuration.ts';
import { isMap, type PlainMap } from '../plain.ts';
import { formatPath } from '../problems.ts';
import { UNLIMITED_QUOTAS } from '../restrictions.ts';
import { fixedValues, layers, mapsFor, type Schema } from '../schema-walk.ts';
import { settingsSchema } from '../settings.ts';
import { performJob } from '../worker-job.ts';
import type { Path } from '../yaml/places.ts';
import { readConfiguration, type Sources } from './configuration.ts';

const restrictions = {
  delivery: { privateAddresses: 'refuse', allowedAddresses: [] },
  externalUrl: 'https://main-acme.example.com',
  quotas: UNLIMITED_QUOTAS,
} as const;
const RULES = [{ match: '^events_total$', id: 'queue', kind: 'input', metric: 'in_events' }];
const OTHER = { id: 'other', engine: 'vector', url: 'https://other.example/' };

/** Every place within a value of the schema, maps and lists themselves too. */
const placesIn = (schema: Schema): Path[] =>
  layers(schema).flatMap((layer): Path[] => {
    const below = (step: PropertyKey, child: Schema): Path[] =>
      [[], ...placesIn(child)].map(path => [step, ...path]);
    if (layer instanceof z.ZodObject)
      return Object.entries<Schema>(layer.shape).flatMap(([key, child]) => below(key, child));
    if (layer instanceof z.ZodArray) return below(0, layer.element);
    return layer instanceof z.ZodRecord ? below('one', layer.valueType) : [];
  });

function withValueAt(value: unknown, [step, ...rest]: Path, put: unknown): unknown {
  if (step === undefined) return put;
  if (typeof step === 'number') {
    const list: readonly unknown[] = Array.isArray(value) ? value : [];
    return [withValueAt(list[step], rest, put), ...list.slice(1)];
  }
  const map = isMap(value) ? value : {};
  return { ...map, [step]: withValueAt(map[String(step)], rest, put) };
}

/** A pipeline of each form that the schema knows, and each place in it. */
const FORMS = mapsFor(pipelineSchema, {}).map(map => {
  const [engine] = fixedValues(map.shape.engine ?? z.never());
  const isPushed = fixedValues(map.shape.push ?? z.never()).includes(true);
  const base: PlainMap = {
    ...{ id: 'edge', engine, group: 'west' },
    ...(isPushed ? { push: true } : { url: 'https://edge.example/' }),
    ...(engine === 'custom' && !isPushed && { rules: RULES }),
  };
  const places = [...new Map(placesIn(map).map(path => [formatPath(path), path])).values()];
  return { name: `${String(engine)}${isPushed ? ' that pushes' : ''}`, base, places };
});

const CASES = FORMS.flatMap(({ name, base, places }) =>
  places.map(path => ({ name, setting: formatPath(path), base, path })),
);

const sourcesOf = (texts: Sources['texts']): Sources => ({
  ...{
    folder: 'main-acme',
    environment: { SECRET: 'x' },
    flags: {},
    restrictions,
    secretOf: () => undefined,
  },
  texts: Object.fromEntries(FILES.map(name => [name, texts?.[name] ?? ''])),
});

const read = (settings: unknown) =>
  readConfiguration(sourcesOf({ 'headgate.yml': JSON.stringify(settings) }));

function loaded(settings: unknown) {
  const result = read(settings);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result;
}

/** What a change to these settings is refused with. */
function refusalOf(settings: object) {
  const { secretOf: _, ...sources } = sourcesOf({});
  const done = performJob({
    sources,
    secrets: new Map(),
    change: {
      edits: [{ section: 'settings', id: '', value: settings }],
      sent: undefined,
      now: sources.texts ?? {},
    },
  });
  if (done.kind !== 'refused') throw new Error('the change was taken');
  return done.problems;
}

test('every form of a pipeline has places to try, the ones that tell it apart among them', () => {
  for (const { places } of FORMS)
    expect(places.map(path => formatPath(path))).toEqual(
      expect.arrayContaining(['id', 'engine', 'push', 'group'].filter(key => places.flat().includes(key))),
    );
  expect(CASES.length).toBeGreaterThan(80);
});

describe.each(['${env:SECRET}', '${file:/etc/hostname}', '${secret:gone}'])(
  '%s in a stored pipeline',
  text => {
    it.each(CASES)(
      'of $name as $setting lets the workspace start, and says why it does not count',
      ({ base, path }) => {
        const pipelines = [withValueAt(base, path, text), OTHER];
        const { values, warnings } = loaded({ pipelines });
        const [first, other] = values.settings.pipelines;
        expect(other).toMatchObject(OTHER);
        expect(JSON.stringify({ ...first, switchedOff: '' })).not.toContain('${');
        const [key] = path;
        const isKept = base.push === true && !['id', 'engine', 'push', 'group'].includes(String(key));
        if (isKept) expect(first).toMatchObject({ id: 'edge', push: true });
        else expect(first).toMatchObject({ switchedOff: expect.any(String) });

        if (key !== 'id') expect(first?.id).toBe('edge');
        if (key !== 'group') expect(first?.group).toBe('west');
        const place = formatPath(['pipelines', 0, ...path]);
        const reasons = warnings.filter(warning => warning.path === place).map(({ message }) => message);
        expect(reasons).toContainEqual(
          expect.stringContaining(isKept ? 'it counts as left out' : 'the pipeline is switched off'),
        );
        expect(refusalOf({ pipelines }).map(problem => problem.path)).toContain(place);
      },
    );
  },
);

test('a pipeline that is a reference as a whole is switched off, and keeps off the ids of others', () => {
  const { values } = loaded({
    pipelines: ['${env:SECRET}', { ...OTHER, id: 'switched-off-1' }, '${env:SECRET}'],
  });
  expect(values.settings.pipelines.map(one => [one.id, 'switchedOff' in one])).toEqual([
    ['switched-off-1-', true],
    ['switched-off-1', false],
    ['switched-off-3', true],
  ]);
});

const OWN_SETTINGS = placesIn(settingsSchema).filter(([section, key]) =>
  [
    'instance.name',
    'pipelines',
    'retention',
    'delivery.retrySchedule',
    'delivery.concurrency',
    'delivery.operationalTarget',
  ].some(own => [String(section), `${String(section)}.${String(key)}`].includes(own)),
);

test.each(
  [
    ...new Set(OWN_SETTINGS.filter(([section]) => section !== 'pipelines').map(path => formatPath(path))),
    'pipelines',
  ].map(setting => [setting]),
)('a reference in %s of a workspace counts as left out, and a change that brings it is refused', setting => {
  const path = OWN_SETTINGS.find(one => formatPath(one) === setting) ?? [setting];
  const settings = withValueAt({}, path, '${env:SECRET}');
  const { values, warnings } = loaded(settings);
  expect(values.settings).toEqual(loaded({}).values.settings);
  expect(warnings.find(warning => warning.path === setting)?.message).toContain('it counts as left out');
  expect(refusalOf(isMap(settings) ? settings : {}).map(problem => problem.path)).toContain(setting);
});

test('what else is wrong with a pipeline is still an error', () => {
  const result = read({ pipelines: [{ ...OTHER, token: '${env:SECRET}', interval: 'soon' }] });
  expect(result.ok ? [] : result.problems.map(({ path }) => path)).toEqual(['pipelines[0].interval']);
});
