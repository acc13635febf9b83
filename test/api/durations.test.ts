import { expect, it } from 'vitest';
import * as z from 'zod';
import { operations } from '../../src/api/v1/index.ts';
import { conditions } from '../../src/conditions/index.ts';
import { settingsSchema } from '../../src/config/settings.ts';
import { parseDuration } from '../../src/lib/duration.ts';
import { notificationSchema } from '../../src/notifications/notification.ts';
import { rotateCredential } from '../../src/resources/credentials.ts';
import { targetTypes } from '../../src/targets/index.ts';

/** What a schema is made of: keys, items, alternatives, and what it wraps. */
function partsOf(schema: z.core.$ZodType): [string, z.core.$ZodType][] {
  return Object.entries(schema._zod.def).flatMap(([name, part]) => {
    const parts = name === 'shape' ? Object.entries(part) : [part].flat().map(one => ['', one]);
    return parts.filter((pair): pair is [string, z.core.$ZodType] => pair[1] instanceof z.core.$ZodType);
  });
}

/** Every schema within those of the configuration and the API, with its place. */
function everySchema(): Map<z.core.$ZodType, string> {
  const found = new Map<z.core.$ZodType, string>();
  function visit(schema: z.core.$ZodType, place: string): void {
    if (found.has(schema)) return;
    found.set(schema, place);
    for (const [key, part] of partsOf(schema)) visit(part, key === '' ? place : `${place}.${key}`);
  }
  visit(settingsSchema, 'headgate.yml');
  visit(notificationSchema, 'notification');
  for (const { id, schema } of conditions) visit(schema, id);
  for (const { type, schema } of targetTypes) visit(schema, type);
  visit(rotateCredential.input, 'credentials.rotate');
  for (const { id, query, body } of operations) {
    visit(z.object({ ...query }), `query of ${id}`);
    if (body !== undefined) visit(body.shape.schema, `body of ${id}`);
  }
  return found;
}

/** Of a duration, or of a time that may be written as one before now. */
const isDuration = (schema: z.core.$ZodType): boolean =>
  ['duration', 'point-in-time'].includes(String(z.globalRegistry.get(schema)?.format));

it('every duration of the configuration and the API may have several units and decimal places', () => {
  const durations = [...everySchema()].filter(([schema]) => isDuration(schema));
  expect(durations.length).toBeGreaterThan(20);
  for (const [schema, place] of durations)
    for (const text of ['1h30m', '1.5h', '1d12h', '0.5s', '1m30s']) {
      const { error } = z.safeParse(schema, text);
      const refusals = error?.issues.map(({ message }) => message) ?? [];
      expect(
        refusals.filter(message => !/^must be at (least|most) /.test(message)),
        place,
      ).toEqual([]);
    }
});

it('nothing that is a duration by its default is read in another way', () => {
  const defaults = [...everySchema()].filter(([schema]) => {
    const { def } = schema._zod;
    const value = 'defaultValue' in def ? def.defaultValue : undefined;
    return typeof value === 'string' && parseDuration(value) !== undefined;
  });
  expect(defaults.length).toBeGreaterThan(20);
  for (const [schema, place] of defaults)
    expect(
      partsOf(schema).some(([, part]) => isDuration(part)),
      place,
    ).toBe(true);
});
