import { trendPaths } from './rates.js';
import { TABLES } from './tables.js';

/** Sets text as text, never as markup: ids and messages are other people's. */

export const byId = id => document.getElementById(id);

export function element(tag, className = '', text = '') {
  const made = document.createElement(tag);
  if (className !== '') made.className = className;
  if (text !== '') made.textContent = text;
  return made;
}

const drawn = new WeakMap();

/** Draws only what has changed, so that a focused link, a selection and a reader's place survive each refresh. */
export function update(node, shown, draw) {
  const text = JSON.stringify(shown);
  if (drawn.get(node) === text) return;
  drawn.set(node, text);
  node.replaceChildren(...draw(shown));
}

/** Shows a line of text, or hides it when there is none. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
  node.hidden = text === '';
}

function drawPart({ text, tone, href, time, title, trend, action, label }) {
  if (trend !== undefined) return drawTrend(trend);
  if (action !== undefined) return drawButton(text, action, label);
  const part = element(href ? 'a' : time ? 'time' : 'span', tone, text);
  if (href) part.href = href;
  if (time) part.dateTime = time;
  if (title) part.title = title;
  return part;
}

/** `label` names the row to those who hear the button alone. */
function drawButton(text, action, label) {
  const button = element('button', 'quiet', text);
  button.type = 'button';
  button.dataset.action = action;
  button.setAttribute('aria-label', label);
  return button;
}

function drawTrend(trend) {
  const drawing = svg('svg', {
    class: 'trend',
    viewBox: '0 0 100 24',
    preserveAspectRatio: 'none',
    'aria-hidden': true,
  });
  const paths = trendPaths(trend);
  if (paths !== undefined)
    drawing.append(svg('path', { class: 'ground', d: paths.ground }), svg('path', { d: paths.line }));
  return drawing;
}

function svg(tag, attributes) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

const classOf = column => ['number', 'short', 'wide', 'full'].filter(name => column[name]).join(' ');

/** Roles are spelled out because a table laid out as cards loses its own. */
function withRole(node, role) {
  node.setAttribute('role', role);
  return node;
}

function makeTable(name, title) {
  const table = withRole(element('table'), 'table');
  table.setAttribute('aria-label', title);
  const heads = withRole(element('tr'), 'row');
  for (const column of TABLES[name].columns)
    heads.append(withRole(element('th', classOf(column), column.label), 'columnheader'));
  const head = withRole(element('thead'), 'rowgroup');
  head.append(heads);
  table.append(head, withRole(element('tbody'), 'rowgroup'));
  return table;
}

function makeRow(columns, id) {
  const row = withRole(element('tr'), 'row');
  row.dataset.id = id;
  for (const column of columns) {
    const cell = withRole(element('td', classOf(column)), 'cell');
    cell.dataset.label = column.label;
    row.append(cell);
  }
  return row;
}

/** `answer` is `{items, total}`, `{error}`, or undefined while the first one is awaited. */
export function showTable(name, answer, facts) {
  const panel = byId(name);
  const heading = panel.querySelector('h2');
  const [title, size] = heading.childNodes;
  const table = panel.querySelector('table') ?? makeTable(name, title.textContent);
  const line = panel.querySelector('.state') ?? element('p', 'state');
  if (table.parentNode === null) panel.append(line, table);
  const items = answer?.items ?? [];
  const state =
    answer === undefined ? 'Loading …' : (answer.error ?? (items.length === 0 ? TABLES[name].empty : ''));
  say(line, state);
  line.classList.toggle('bad', answer?.error !== undefined);
  update(size ?? heading.appendChild(element('span', 'size')), sizeOf(items, answer?.total), text => [text]);
  table.hidden = items.length === 0;
  showRows(table.tBodies[0], TABLES[name].columns, items, facts);
}

const sizeOf = (items, total = items.length) =>
  items.length === 0
    ? ''
    : items.length < total
      ? `${items.length} of ${total.toLocaleString('en')}`
      : String(total);

function showRows(body, columns, items, facts) {
  const old = new Map([...body.rows].map(row => [row.dataset.id, row]));
  items.forEach((item, index) => {
    const row = old.get(item.id) ?? makeRow(columns, item.id);
    old.delete(item.id);
    row.classList.toggle('chosen', facts.chosen !== undefined && item.id === facts.chosen);
    columns.forEach((column, place) => {
      update(row.cells[place], column.cell(item, facts).filter(Boolean), parts => parts.map(drawPart));
    });
    if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null);
  });
  for (const row of old.values()) row.remove();
}
