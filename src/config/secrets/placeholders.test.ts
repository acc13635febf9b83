import { expect, it } from 'vitest';
import * as z from 'zod';
import { configFolder } from '../../../test/helpers/config-folder.ts';
import { checkConfiguration } from '../check-files.ts';
import { formatPath } from '../problems.ts';
import { layers, mapsFor, type Schema } from '../schema-walk.ts';
import { settingsSchema } from '../settings.ts';
import type { Path } from '../yaml/places.ts';

const REFERENCE = '${secret:some_Name.1}';

/** Paths of every setting that is no map and no list; the first item stands for all of a list. */
function leaves(schema: Schema, path: Path = []): Path[] {
  const all = layers(schema);
  const maps = mapsFor(schema, {});
  const list = all.find(layer => layer instanceof z.ZodArray);
  const entries = all.find(layer => layer instanceof z.ZodRecord);
  if (maps.length > 0)
    return maps.flatMap(map =>
      Object.entries(map.shape).flatMap(([key, one]) => leaves(one, [...path, key])),
    );
  if (list !== undefined) return leaves(list.element, [...path, 0]);
  if (entries !== undefined) return leaves(entries.valueType, [...path, 'key']);
  return [path];
}

const unique = [...new Map(leaves(settingsSchema).map(path => [formatPath(path), path])).values()];

/** Settings with what is required beside the one that is set. */
const BASE = {
  pipelines: [
    {
      id: 'p',
      engine: 'custom',
      url: 'https://metrics.example/metrics',
      rules: [{ match: 'up', id: 'one', kind: 'input', metric: 'in_events' }],
    },
  ],
  hosted: {
    cloudDomain: 'gate.example',
    authUrl: 'https://login.gate.example',
    audience: ['https://gate.example'],
  },
  auth: { openid: { issuer: 'https://id.example', client_id: 'c', client_secret: '${secret:other}' } },
  api: { tls: { certPath: 'a.pem', privKeyPath: 'b.pem' } },
};

function withValue(whole: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  if (typeof step === 'number') {
    const list = Array.isArray(whole) ? whole : [];
    return [withValue(list[step], rest, value)];
  }
  const map = typeof whole === 'object' && whole !== null ? whole : {};
  return { ...map, [step]: withValue(Reflect.get(map, step), rest, value) };
}

const check = (settings: unknown) =>
  checkConfiguration(
    { folder: configFolder({ 'headgate.yml': JSON.stringify(settings) }), environment: {}, flags: {} },
    { now: () => 0 },
  );

/** What one setting asks of another is judged with the placeholder in its place. */
const OF_OTHERS =
  /needs|is needed|must be left out|does not exist|must be valid|^pipelines\[0\]\.[\w.]+: unknown key/;

it('reads headgate.yml without its store, whichever of its settings is a stored secret', () => {
  expect(unique.length).toBeGreaterThan(60);
  const refused = unique.flatMap(path => {
    const { ok, errors } = check(withValue(BASE, path, REFERENCE));
    // An error without a reason would be as bad.
    return ok ? [] : [`${formatPath(path)}: ${errors.map(({ message }) => message).join('; ')}`];
  });
  const early = refused.filter(text => /^storage\./.test(text));
  expect(early.map(text => text.split(':')[0])).toEqual(['storage.url', 'storage.keyRing']);
  expect(early).toEqual(early.map(() => expect.stringContaining('says where the store is')));
  expect(refused.filter(text => !early.includes(text) && !OF_OTHERS.test(text))).toEqual([]);
});

it('says of a setting that leads to the store why no stored secret can stand there', () => {
  const { ok, errors } = check({ storage: { url: '${secret:database}' } });
  expect(ok).toBe(false);
  expect(errors).toEqual([
    expect.objectContaining({
      path: 'storage.url',
      message: expect.stringContaining('cannot be read from it as ${secret:database}; write ${env:NAME}'),
    }),
  ]);
});

it('takes two pipelines whose tokens are different stored secrets', () => {
  const pushed = (id: string, name: string) => ({
    id,
    engine: 'custom',
    push: true,
    token: `\${secret:${name}}`,
  });
  expect(check({ pipelines: [pushed('a', 'one'), pushed('b', 'two')] })).toMatchObject({ ok: true });
  expect(check({ pipelines: [pushed('a', 'one'), pushed('b', 'one')] })).toMatchObject({ ok: false });
});
