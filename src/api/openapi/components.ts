import { isMap, type PlainMap } from '../../config/plain.ts';
import type { Shape } from '../shape.ts';
import { jsonSchemaOf, type View } from './json-schema.ts';

/** The schemas that a document describes under a name, gathered while its operations are. */
export interface Components {
  /** Describes the shape if that was not done yet, and refers to it. */
  refer(shape: Shape, view: View): PlainMap;
  /** By name, in alphabetical order. */
  all(): PlainMap;
}

export function createComponents(): Components {
  const schemas = new Map<string, PlainMap>();
  /** What stands behind each name: two shapes under one name would be a lie about one of them. */
  const origins = new Map<string, Shape['schema']>();

  function add(name: string, shape: Shape, make: () => PlainMap): PlainMap {
    const known = origins.get(name);
    if (known !== undefined && known !== shape.schema)
      throw new Error(`two different shapes are called ${name}`);
    if (known === undefined) {
      origins.set(name, shape.schema);
      schemas.set(name, make());
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  function refer(shape: Shape, view: View): PlainMap {
    const { kinds } = shape;
    if (kinds === undefined) return add(nameOf(shape, view), shape, () => described(shape, view));
    const references = kinds.map(kind => refer(kind, view));
    return add(nameOf(shape, view), shape, () =>
      // A part need not say its type, so that nothing tells the kinds apart.
      view === 'part'
        ? { anyOf: references }
        : { oneOf: references, discriminator: { propertyName: 'type', mapping: mappingOf(kinds, view) } },
    );
  }

  return {
    refer,
    all: () => Object.fromEntries([...schemas].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}

/** What is sent of a shape that is answered as well is something else: it says no defaults. */
function nameOf({ name, sentAs = name }: Shape, view: View): string {
  if (view === 'answer') return name;
  return view === 'part' ? `${name}Change` : sentAs;
}

const mappingOf = (kinds: readonly Shape[], view: View): PlainMap =>
  Object.fromEntries(kinds.map(kind => [typeOf(kind), `#/components/schemas/${nameOf(kind, view)}`]));

function typeOf({ name, schema }: Shape): string {
  const { properties } = jsonSchemaOf(schema, 'whole');
  const type = isMap(properties) ? properties.type : undefined;
  if (isMap(type) && typeof type.const === 'string') return type.const;
  throw new Error(`${name} does not say its type`);
}

function described({ schema, also = {}, adds = {} }: Shape, view: View): PlainMap {
  const plain = jsonSchemaOf(schema, view);
  if (view !== 'answer' || !isMap(plain.properties)) return plain;
  const { properties } = plain;
  const others = Object.entries(also).map(([name, key]) => {
    const same = isMap(properties[key]) ? properties[key] : {};
    return [name, { ...same, description: `The same as ${key}, for clients of the family.` }];
  });
  const added = Object.entries(adds).map(([name, own]) => [name, jsonSchemaOf(own, view)]);
  return { ...plain, properties: { ...properties, ...Object.fromEntries([...others, ...added]) } };
}
