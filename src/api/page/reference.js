import { byId, element } from './drawing.js';
import { curlOf, grouped, matches, operationsOf } from './operations.js';
import { schemaView } from './schema-view.js';

const TONES = { POST: 'writes', PUT: 'writes', PATCH: 'writes', DELETE: 'removes' };

let api;

void start();

async function start() {
  try {
    const answer = await fetch('/openapi.json');
    if (!answer.ok) throw new Error(`answered ${answer.status}`);
    api = await answer.json();
  } catch {
    byId('trouble').textContent = 'Headgate does not answer. Is it running, and can this machine reach it?';
    byId('trouble').hidden = false;
    return;
  }
  byId('version').textContent = `Version ${api.info.version}`;
  byId('introduction').textContent = api.info.description;
  draw();
  byId('filter').addEventListener('input', draw);
  window.addEventListener('hashchange', openLinked);
  openLinked();
}

function draw() {
  const words = byId('filter').value.trim();
  const found = operationsOf(api).filter(operation => matches(operation, words));
  byId('count').textContent =
    found.length === 0 ? `Nothing is called “${words}”` : `${found.length} operations`;
  byId('operations').replaceChildren(
    ...grouped(found).map(([noun, operations]) => {
      const section = element('section');
      section.append(element('h2', '', noun), ...operations.map(drawOperation));
      return section;
    }),
  );
}

function drawOperation(operation) {
  const details = element('details', 'operation');
  details.id = operation.id;
  const summary = element('summary');
  summary.append(
    element('span', `method ${TONES[operation.method] ?? ''}`.trim(), operation.method),
    element('code', '', operation.path),
    element('span', 'what', operation.summary),
  );
  details.append(summary);
  // Hundreds of schemas are drawn only when somebody looks.
  details.addEventListener('toggle', () => {
    if (!details.open || details.children.length > 1) return;
    details.append(bodyOf(operation));
  });
  return details;
}

function bodyOf(operation) {
  const body = element('div', 'body');
  const { description, access, inGroup, parameters, request, answer, errors } = operation;
  if (description) body.append(element('p', '', description));
  body.append(element('p', '', accessText(access)));
  if (inGroup) body.append(element('p', '', `For one group: ${inGroup}`));
  if (parameters.length > 0) body.append(heading('Parameters'), parameterList(parameters));
  if (request) body.append(heading('Body'), schemaView(api, request.schema));
  if (request?.example !== undefined) body.append(heading('Example of a body'), code(request.example));
  body.append(heading('With curl'), element('pre', '', curlOf(operation, location.origin)));
  body.append(heading('Answer'), schemaView(api, answer.schema));
  if (answer.example !== undefined) body.append(heading('Example of an answer'), code(answer.example));
  body.append(heading('Refusals'), refusals(errors));
  return body;
}

const heading = text => element('h3', '', text);

const code = value => element('pre', '', typeof value === 'string' ? value : JSON.stringify(value, null, 2));

function accessText(access) {
  if (access === 'public') return 'Needs no token.';
  if (access === 'pipeline') return 'Needs the token of the pipeline.';
  return access === 'any actor' ? 'Needs a token.' : `Needs a token with the permission ${access}.`;
}

function parameterList(parameters) {
  const list = element('ul', 'keys');
  for (const { name, in: place, required, description, schema } of parameters) {
    const item = element('li');
    item.append(
      element('code', 'name', name),
      element('span', 'type', ` ${schema.type ?? ''}, in the ${place}${required ? ', required' : ''} `),
      element('span', 'text', description ?? ''),
    );
    list.append(item);
  }
  return list;
}

/** What each code means stands in the document by its status, as `code`: meaning. */
function refusals(errors) {
  const list = element('ul', 'keys');
  const texts = Object.values(api.components.responses).map(({ description }) => description);
  for (const error of errors) {
    const item = element('li');
    const known = texts.find(text => text.includes(`\`${error}\`: `)) ?? '';
    const meaning = known.split(`\`${error}\`: `)[1]?.split(/ `[a-z-]+`: /)[0] ?? '';
    item.append(element('code', 'name', error), element('span', 'text', ` ${meaning}`));
    list.append(item);
  }
  return list;
}

/** Anybody may write a link, so it need not be well formed. */
function linkedId() {
  try {
    return decodeURIComponent(location.hash.slice(1)).replace(/InGroup$/, '');
  } catch {
    return '';
  }
}

/** A link to an operation opens it, also when the filter has hidden it. */
function openLinked() {
  const id = linkedId();
  if (id === '') return;
  const isOperation = operationsOf(api).some(operation => operation.id === id);
  if (!isOperation) return;
  if (byId(id) === null) {
    byId('filter').value = '';
    draw();
  }
  const details = byId(id);
  details.open = true;
  details.scrollIntoView();
  details.querySelector('summary').focus({ preventScroll: true });
}
