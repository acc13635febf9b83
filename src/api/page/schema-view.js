import { element } from './drawing.js';

/** Draws a schema as a list of its keys. Nested keys are drawn when they are opened, so that schemas may contain themselves. */
export function schemaView(document, schema) {
  const list = element('ul', 'keys');
  const { keys } = partsOf(document, schema);
  if (keys.length === 0) list.append(rowOf(document, { name: '', schema, required: true }));
  else list.append(...keys.map(key => rowOf(document, key)));
  return list;
}

function rowOf(document, { name, schema, required }) {
  const item = element('li');
  const { keys, type, description } = partsOf(document, schema);
  const line = keys.length > 0 ? element('summary') : item;
  line.append(
    element('code', 'name', name),
    element('span', 'type', type === name ? ' ' : ` ${type}${required || name === '' ? '' : ', optional'}. `),
    element('span', 'text', description),
  );
  if (keys.length === 0) return item;
  const details = element('details');
  details.append(line);
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(schemaView(document, schema));
  });
  item.append(details);
  return item;
}

function resolved(document, schema) {
  if (schema.$ref === undefined) return schema;
  const path = schema.$ref.slice(2).split('/');
  return { ...path.reduce((value, key) => value[key], document), title: path.at(-1) };
}

function partsOf(document, given) {
  const schema = resolved(document, given);
  const description = [given.description ?? schema.description ?? '', limitsOf(schema)]
    .filter(Boolean)
    .join(' ');
  if (schema.items) {
    const inner = partsOf(document, schema.items);
    return { keys: inner.keys, type: `list of ${inner.type}`, description };
  }
  const options = (schema.oneOf ?? schema.anyOf ?? []).map(one => resolved(document, one));
  const others = options.filter(one => one.type !== 'null');
  if (others.length === 1)
    return { ...partsOf(document, others[0]), type: `${partsOf(document, others[0]).type} or null` };
  if (others.length > 1)
    return {
      keys: others.map(one => ({ name: kindOf(one), schema: one, required: true })),
      type: 'one of',
      description,
    };
  const required = schema.required ?? [];
  const keys = Object.entries(schema.properties ?? {}).map(([name, one]) => ({
    name,
    schema: one,
    required: required.includes(name),
  }));
  return { keys, type: typeOf(schema), description };
}

/** Variants are distinguished by their `type`. */
const kindOf = ({ title, type, properties }) => properties?.type?.const ?? title ?? String(type ?? '');

function typeOf({ title, type, format, enum: values, const: only, additionalProperties }) {
  if (only !== undefined) return JSON.stringify(only);
  if (values) return values.map(value => JSON.stringify(value)).join(' | ');
  if (title) return title;
  const name = Array.isArray(type) ? type.join(' or ') : (type ?? 'anything');
  const within = additionalProperties?.type;
  return [within ? `map of ${within}` : name, format].filter(Boolean).join(', ');
}

function limitsOf(schema) {
  const { default: value, minimum, maximum, minLength, maxLength, minItems, maxItems, examples } = schema;
  const parts = [
    value !== undefined && `Default ${JSON.stringify(value)}.`,
    minimum > Number.MIN_SAFE_INTEGER && `At least ${minimum}.`,
    maximum < Number.MAX_SAFE_INTEGER && `At most ${maximum}.`,
    minLength > 1 && `At least ${minLength} characters.`,
    maxLength !== undefined && `At most ${maxLength} characters.`,
    minItems > 0 && `At least ${minItems} of them.`,
    maxItems > 1 && `At most ${maxItems} of them.`,
    examples !== undefined && `Such as ${examples.join(', ')}.`,
    schema['x-aliases'] && `Also read as ${schema['x-aliases'].join(', ')}.`,
  ];
  return parts.filter(Boolean).join(' ');
}
