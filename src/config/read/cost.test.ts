import { expect, it, test } from 'vitest';
import * as z from 'zod';
import { cpuMsOf } from '../../../test/helpers/cpu-time.ts';
import { conditions } from '../../conditions/index.ts';
import { notificationSchema } from '../../notifications/notification.ts';
import { targetTypes } from '../../targets/index.ts';
import {
  FILES,
  type FileName,
  INPUTS_FILE,
  NOTIFICATIONS_FILE,
  OUTPUTS_FILE,
  SETTINGS_FILE,
} from '../configuration.ts';
import { declaredSchema } from '../declared-schema.ts';
import { formatPath } from '../problems.ts';
import { layers, mapsFor, type Schema } from '../schema-walk.ts';
import { settingsSchema } from '../settings.ts';
import { performJob } from '../worker-job.ts';
import type { Path } from '../yaml/places.ts';

/** A list or a map of any keys in a file, or a map whose keys are known. */
interface Collection {
  readonly file: FileName;
  readonly path: Path;
  readonly isList: boolean;
}

/** What must stand beside a value for the schema to be asked about it. */
type Items = Readonly<Record<string, object>>;

function collectionsIn(file: FileName, schema: Schema, path: Path): Collection[] {
  const all = layers(schema);
  const list = all.find(layer => layer instanceof z.ZodArray);
  const entries = all.find(layer => layer instanceof z.ZodRecord);
  const inMaps = mapsFor(schema, {}).flatMap(({ shape }) =>
    Object.entries(shape).flatMap(([key, field]) => collectionsIn(file, field, [...path, key])),
  );
  return [
    ...(list === undefined && entries === undefined && inMaps.length === 0 && mapsFor(schema, {}).length === 0
      ? []
      : [{ file, path, isList: list !== undefined }]),
    ...inMaps,
    ...(list === undefined ? [] : collectionsIn(file, list.element, [...path, 0])),
    ...(entries === undefined ? [] : collectionsIn(file, entries.valueType, [...path, 'key'])),
  ];
}

/** Everything in the files that can hold many values, by the schemas. */
const COLLECTIONS: readonly (Collection & { readonly items: Items })[] = [
  ...collectionsIn(SETTINGS_FILE, settingsSchema, []).map(one => ({ ...one, items: {} })),
  ...['targets', 'notifications'].map(section => ({
    ...{ file: NOTIFICATIONS_FILE as FileName, path: [section], isList: true, items: {} },
  })),
  ...targetTypes.flatMap(({ type, schema }) =>
    collectionsIn(NOTIFICATIONS_FILE, schema, ['targets', 0]).map(one => ({
      ...{ ...one, items: { targets: { id: 'one', type } } },
    })),
  ),
  ...collectionsIn(NOTIFICATIONS_FILE, notificationSchema, ['notifications', 0]).map(one => ({
    ...{ ...one, items: { notifications: { id: 'one', condition: 'no-data' } } },
  })),
  ...conditions.flatMap(({ id, schema }) =>
    collectionsIn(NOTIFICATIONS_FILE, schema, ['notifications', 0, 'conf']).map(one => ({
      ...{ ...one, items: { notifications: { id: 'one', condition: id } } },
    })),
  ),
  ...([INPUTS_FILE, OUTPUTS_FILE] as const).flatMap(file => {
    const section = file.replace('.yml', '');
    return [
      { file, path: [section], isList: true, items: {} },
      ...collectionsIn(file, declaredSchema, [section, 0]).map(one => ({ ...one, items: {} })),
    ];
  }),
];

const unique = [
  ...new Map(
    COLLECTIONS.map(one => [`${one.file} ${formatPath(one.path)} ${JSON.stringify(one.items)}`, one]),
  ),
];

/** Values of which some are wrong wherever they stand, and names that exist, or nearly. */
const KINDS: Readonly<Record<string, (index: number) => unknown>> = {
  values: index =>
    [0, {}, { id: `known_${index}`, name: `known_x${index}`, output: `known_x${index}` }, null][index % 4],
  names: index => (index % 2 === 0 ? `known_x${index}` : `known_${index}`),
};

function withValue(whole: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return Array.isArray(whole) && Array.isArray(value) ? [...value, ...whole] : value;
  if (typeof step === 'number') {
    const list = Array.isArray(whole) ? whole : [];
    return [withValue(list[step], rest, value), ...list.slice(1)];
  }
  const map = typeof whole === 'object' && whole !== null ? whole : {};
  return { ...map, [step]: withValue(Reflect.get(map, step), rest, value) };
}

const list = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Files with so many values at the place, beside as many things that have names. */
function textsOf(
  { file, path, isList, items }: (typeof COLLECTIONS)[number],
  make: (index: number) => unknown,
  count: number,
): Record<FileName, string> {
  const known = {
    [SETTINGS_FILE]: {
      pipelines: list(count, index => ({ id: `known_${index}`, engine: 'vector', url: 'http://h.example/' })),
    },
    [NOTIFICATIONS_FILE]: {
      targets: [items.targets ?? { id: 'first', type: 'notifications_log' }].concat(
        list(count, index => ({ id: `known_${index}`, type: 'notifications_log' })),
      ),
      notifications: [
        items.notifications ?? {
          id: 'first',
          condition: 'no-data',
          targets: ['known_1'],
          conf: { name: 'a' },
        },
      ],
    },
    [INPUTS_FILE]: { inputs: [{ id: 'a', type: 'b' }] },
    [OUTPUTS_FILE]: { outputs: [{ id: 'a', type: 'b' }] },
  };
  const values = list(count, make);
  const value = isList ? values : Object.fromEntries(values.map((one, index) => [`known_y${index}`, one]));
  const whole = { ...known, [file]: withValue(known[file], path, value) };
  return Object.fromEntries(FILES.map(name => [name, JSON.stringify(whole[name])])) as Record<
    FileName,
    string
  >;
}

const cpuMsOfCheck = (texts: Record<FileName, string>): Promise<number> =>
  cpuMsOf(() =>
    performJob({
      sources: { folder: '/', environment: {}, flags: {}, texts, sealed: true },
      secrets: undefined,
      change: undefined,
      checked: FILES,
    }),
  );

/** Of as many attempts the cheapest counts: a pause of the machine or of the engine falls into few of them. */
const ATTEMPTS = 4;
const FEW = 100;
const FACTOR = 6;
/** Time that grew with the square would be 36 times as much; some of it does not grow at all. */
const MOST_TIMES = 15;
/** Under this nothing is measured but noise. */
const NOISE_MS = 15;

async function expectLinear(make: (count: number) => Record<FileName, string>): Promise<void> {
  let few = Number.POSITIVE_INFINITY;
  let many = Number.POSITIVE_INFINITY;
  const isLinear = (): boolean => many < NOISE_MS || many <= MOST_TIMES * few;
  for (let attempt = 0; attempt === 0 || (attempt < ATTEMPTS && !isLinear()); attempt++) {
    few = Math.min(few, await cpuMsOfCheck(make(FEW)));
    many = Math.min(many, await cpuMsOfCheck(make(FEW * FACTOR)));
  }
  expect(isLinear(), `${few} ms for few, ${many} ms for ${FACTOR} times as many`).toBe(true);
}

it('finds the lists and maps of the schemas', () => {
  expect(unique.length).toBeGreaterThan(60);
});

test.each(unique)('checking many %s takes time that grows with them', { timeout: 60_000 }, async (_, one) => {
  for (const make of Object.values(KINDS)) await expectLinear(count => textsOf(one, make, count));
});

/** Items that are held against each other. */
const CROSSED: Readonly<Record<string, (count: number) => Partial<Record<FileName, object>>>> = {
  'routers in a row': count => ({
    [NOTIFICATIONS_FILE]: {
      targets: list(count, index => router(index, [index + 1])),
      notifications: list(count, index => ({
        id: `n${index}`,
        condition: 'external',
        targets: [`r${index}`],
      })),
    },
  }),
  'routers in a circle, and mail at its end': count => ({
    [NOTIFICATIONS_FILE]: {
      targets: [
        ...list(count, index => router(index, [(index + 1) % count])),
        { id: 'mail', type: 'smtp', host: 'h', port: 25, from: 'a@b.example', fallback: 'r0' },
      ],
      notifications: list(count, index => alarm(index, { targets: [`r${index}`, 'mail'] })),
    },
  }),
  'patterns and pipelines': count => ({
    [SETTINGS_FILE]: {
      pipelines: list(count, index => ({ id: `p${index}`, engine: 'vector', url: 'http://h.example/' })),
    },
    [NOTIFICATIONS_FILE]: {
      notifications: list(count, index => ({
        id: `n${index}`,
        condition: 'unreachable',
        conf: { name: `p${index}x*`, timeWindow: '20s' },
      })),
    },
  }),
  'fields that metadata adds and templates': count => ({
    [NOTIFICATIONS_FILE]: {
      targets: list(count, index => ({
        ...{ id: `t${index}`, type: 'webhook', url: 'https://h.example/' },
        ...{
          format: 'custom',
          customPayloadExpression: '{"items":[${events}]}',
          srcExpression: `field_${index}x`,
        },
      })),
      notifications: list(count, index =>
        alarm(index, { metadata: [{ name: `field_${index}`, value: '1' }] }),
      ),
    },
  }),
};

const router = (index: number, outputs: readonly number[]): object => ({
  id: `r${index}`,
  type: 'router',
  routes: outputs.map(output => ({ filter: 'true', output: `r${output}` })),
});

const alarm = (index: number, more: object): object => ({
  id: `n${index}`,
  condition: 'no-data',
  conf: { name: 'a' },
  ...more,
});

test.each(Object.entries(CROSSED))('so does checking many %s', { timeout: 60_000 }, async (_, make) => {
  await expectLinear(count => {
    const whole = make(count);
    return Object.fromEntries(FILES.map(name => [name, JSON.stringify(whole[name] ?? {})])) as Record<
      FileName,
      string
    >;
  });
});
