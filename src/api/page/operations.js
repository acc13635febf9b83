const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const IN_GROUP = /InGroup$/;

/** The operations of the document with their details; the variant in a group is listed beside its operation. */
export function operationsOf({ paths }) {
  const all = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter(method => item[method]).map(method => operationOf(path, method, item)),
  );
  const twins = new Map(all.filter(({ id }) => IN_GROUP.test(id)).map(({ id, path }) => [id, path]));
  return all
    .filter(({ id }) => !IN_GROUP.test(id))
    .map(operation => ({ ...operation, inGroup: twins.get(`${operation.id}InGroup`) }));
}

function operationOf(path, method, item) {
  const operation = item[method];
  const content = Object.entries(operation.requestBody?.content ?? {})[0];
  return {
    id: operation.operationId,
    noun: operation.tags[0],
    method: method.toUpperCase(),
    path: (item.servers === undefined ? '/api/v1' : '') + path,
    summary: operation.summary,
    description: operation.description,
    access: operation['x-headgate-access'],
    errors: operation['x-headgate-errors'],
    parameters: operation.parameters ?? [],
    request: content && { type: content[0], ...content[1] },
    answer: Object.values(operation.responses[200].content)[0],
  };
}

/** Every word must stand somewhere in what is said of the operation. */
export function matches({ id, method, path, summary, access }, words) {
  const text = `${id} ${method} ${path} ${summary} ${access}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every(word => text.includes(word));
}

export function grouped(operations) {
  const nouns = new Map();
  for (const operation of operations)
    nouns.set(operation.noun, [...(nouns.get(operation.noun) ?? []), operation]);
  return [...nouns];
}

/** A line for a shell: the example's values, in quotes that nothing ends. */
export function curlOf({ method, path, access, parameters, request }, origin) {
  const exampleOf = name => parameters.find(one => one.name === name)?.example ?? name.toUpperCase();
  const place = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(exampleOf(name)));
  const query = new URLSearchParams(
    parameters
      .filter(one => one.in === 'query' && one.example !== undefined)
      .map(one => [one.name, one.example]),
  ).toString();
  const body = request?.example;
  const parts = [
    'curl',
    ...(method === 'GET' ? [] : ['-X', method]),
    quoted(`${origin}${place}${query === '' ? '' : `?${query}`}`),
    ...(access === 'public' ? [] : ['-H', tokenOf(access)]),
    ...(body === undefined ? [] : ['-H', quoted(`Content-Type: ${request.type}`)]),
    ...(body === undefined ? [] : ['-d', quoted(typeof body === 'string' ? body : JSON.stringify(body))]),
  ];
  return parts.join(' ');
}

/** What a login answers begins with the word Bearer already; the token of a pipeline is what its settings say. */
const tokenOf = access =>
  access === 'pipeline' ? '"Authorization: Bearer $TOKEN"' : '"Authorization: $TOKEN"';

const quoted = text => `'${text.replaceAll("'", "'\\''")}'`;
