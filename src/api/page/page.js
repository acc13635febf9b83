import { listenToAcknowledgements } from './acknowledging.js';
import { call } from './api.js';
import { byId, element, say, showTable, update } from './drawing.js';
import { forgetRates, withRates } from './rates.js';
import { changeableBy, listenToRemovals } from './removal.js';
import { changePassword, createTokens, look, signOut } from './session.js';
import { askForPassword, askToSignIn, listenToForms, refusalOfAddress, showSection } from './sign-in.js';
import { TABLES } from './tables.js';
import { ago, count, HEALTH, serverNow, span } from './words.js';

const REFRESH_MS = 2000;

const LISTS = {
  open: '/incidents?state=open&limit=100',
  closed: '/incidents?state=closed&limit=15',
  inputs: '/system/inputs?limit=200',
  outputs: '/system/outputs?limit=200',
  deliveries: '/deliveries?limit=20',
  messages: '/system/messages?limit=50',
  engines: '/system/engines?limit=100',
};
const CONFIGURATION = '/system/config/status';

/** What `GET /session` says, with its tokens and what ends its requests, while somebody is signed in. */
let session;
/** How people can sign in, as the server last said. */
let offers = {};
/** Resources that the person may change; none until the server has said so. */
let changeable = [];
/** What the last round showed, by the names of `LISTS`. */
let shown = {};
/** The incident of the address, once it was scrolled to. */
let shownIncident;

/** Ends the pause between two rounds. */
let wake = () => {};

const pause = ms =>
  new Promise(resolve => {
    wake = resolve;
    setTimeout(resolve, ms);
  });

const untilVisible = () =>
  new Promise(resolve => {
    if (!document.hidden) return resolve();
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
  });

/* Signing in and out */

function showLogin(note, refusal) {
  leaveSession();
  askToSignIn(offers, note, refusal);
}

function leaveSession() {
  session?.ends.abort();
  session = undefined;
  wake();
  shownIncident = undefined;
  changeable = [];
  shown = {};
  if (byId('removal').open) byId('removal').close();
  forgetRates();
  for (const name of Object.keys(TABLES)) showTable(name, undefined, {});
  byId('summary').replaceChildren();
  document.title = 'Headgate';
  say(byId('freshness'), '');
  say(byId('trouble'), '');
}

/** `typed` is the password of a sign-in that was just made. */
function showSession(found, typed) {
  leaveSession();
  offers = found;
  session = { ...found, tokens: createTokens(found), ends: new AbortController() };
  if (found.forcePasswordChange) askForPassword(session, typed);
  else showBoard();
}

function showBoard() {
  showSection('board');
  byId('local-login-kept').hidden = !session.isLocalLoginKept;
  byId('overview').focus({ preventScroll: true });
  void learnPermissions(session);
  void watch(session);
}

/** Without an answer nothing is offered; a round of refreshing says what is wrong. */
async function learnPermissions(mine) {
  const found = await changeableBy(mine).catch(() => []);
  if (mine !== session || found.length === 0) return;
  changeable = found;
  wake();
}

async function leave() {
  try {
    offers = await signOut(session);
    if (offers.logoutUrl) location.assign(offers.logoutUrl);
    else showLogin();
  } catch ({ status, message }) {
    if (status === 401) showLogin();
    else say(byId('trouble'), `You are still signed in. ${message}`);
  }
}

async function begin() {
  try {
    const refusal = refusalOfAddress();
    offers = await look();
    if (offers.signedIn) showSession(offers);
    else showLogin('', refusal);
  } catch ({ message }) {
    showLogin('', message);
  }
}

/* Refreshing: one round at a time, none while nobody looks */

async function watch(mine) {
  while (mine === session) {
    const id = incidentOfAddress();
    const waitSeconds = await round(mine, id);
    if (id === incidentOfAddress()) await pause(Math.max(REFRESH_MS, waitSeconds * 1000));
    await untilVisible();
  }
}

/** Answers the seconds the server asked to wait before the next round. */
async function round(mine, id) {
  const names = [...Object.keys(LISTS), 'configuration', 'linked'];
  const calls = [
    ...Object.values(LISTS).map(path => ask(mine, path)),
    ask(mine, CONFIGURATION),
    id === undefined ? undefined : ask(mine, `/incidents/${encodeURIComponent(id)}`),
  ];
  const settled = await Promise.all(calls);
  if (mine !== session) return 0;
  const answers = Object.fromEntries(names.map((name, index) => [name, settled[index]]));
  const refusals = settled.filter(answer => answer?.error !== undefined);
  if (refusals.some(({ status }) => status === 401)) {
    showLogin('The session has ended. Please sign in again.');
    return 0;
  }
  // An admin has asked for it meanwhile: what the session says now shows the form.
  if (refusals.some(({ code }) => code === 'password-change-required')) {
    await begin();
    return 0;
  }
  const isDown = refusals.length === settled.filter(Boolean).length;
  say(
    byId('trouble'),
    isDown ? `${refusals[0].error} What is shown may be out of date.` : faultOfAddress(answers),
  );
  if (!isDown) show(answers, id);
  return Math.max(0, ...refusals.map(({ waitSeconds = 0 }) => waitSeconds));
}

async function ask(mine, path) {
  try {
    const token = await mine.tokens.current();
    const { items, totalCount } = await call(`/api/v1${path}`, { token, signal: mine.ends.signal });
    return { items, total: totalCount ?? items.length };
  } catch ({ message, status, code, waitSeconds }) {
    return { error: message, status, code, waitSeconds };
  }
}

/* Showing a round */

function show(answers, id) {
  const openIncidents = answers.open.items ?? [];
  const facts = { openIncidents, chosen: id, changeable };
  shown = answers;
  showTable('incidents', incidentsOf(answers), facts);
  for (const kind of ['input', 'output']) {
    const answer = answers[`${kind}s`];
    showTable(`${kind}s`, answer.items ? { ...answer, items: withRates(kind, answer.items) } : answer, facts);
  }
  for (const name of ['deliveries', 'messages', 'engines']) showTable(name, answers[name], {});
  showConfiguration(answers.configuration);
  showSummary(answers);
  say(byId('freshness'), `Live · ${new Date(serverNow()).toLocaleTimeString()}`);
  document.title = openIncidents.length > 0 ? `(${openIncidents.length}) Headgate` : 'Headgate';
  say(byId('announcer'), count(answers.open.total ?? 0, 'open incident'));
  showChosen(id);
}

/** Open ones first; the one of the address is there however old it is. */
function incidentsOf({ open, closed, linked }) {
  if (open.error) return open;
  const listed = [...open.items, ...(closed.items ?? [])];
  const missing = (linked?.items ?? []).filter(({ id }) => !listed.some(item => item.id === id));
  return { items: [...missing, ...listed] };
}

function showConfiguration({ items: [status] = [] }) {
  showProblems(byId('config-errors'), status?.state === 'error' ? status.errors : []);
  showProblems(byId('config-warnings'), status?.warnings ?? []);
}

function showProblems(box, problems) {
  box.hidden = problems.length === 0;
  const lines = problems.map(textOfProblem);
  update(box.querySelector('ul'), lines, () => lines.map(line => element('li', '', line)));
}

function textOfProblem({ file, line, column, message, path }) {
  const place = line > 0 ? `${file}:${line}:${column}` : file;
  return `${place}: ${message}${path ? ` (${path})` : ''}`;
}

function showSummary({ open, inputs, outputs, deliveries, configuration }) {
  const status = configuration.items?.[0];
  const unsent = (deliveries.items ?? []).filter(
    ({ state }) => state === 'refused' || state === 'exhausted' || state === 'unknown',
  ).length;
  const waiting = (deliveries.items ?? []).filter(({ state }) => state === 'waiting').length;
  const tiles = [
    ['Open incidents', open.total, open.total > 0 ? 'bad' : '', longestOf(open)],
    ['Inputs', inputs.total, '', healthsOf(inputs)],
    ['Outputs', outputs.total, '', healthsOf(outputs)],
    ['Latest deliveries', deliveries.items?.length, '', `${unsent} failed, ${waiting} waiting`],
    [
      'Configuration',
      status && (status.state === 'ok' ? 'Loaded' : count(status.errors.length, 'error')),
      status?.state === 'error' ? 'bad' : '',
      status?.warnings.length > 0 ? count(status.warnings.length, 'warning') : ago(status?.loadedAt).text,
    ],
  ];
  update(byId('summary'), tiles, () => tiles.map(drawTile));
}

function longestOf({ items = [] }) {
  const oldest = Math.min(...items.map(({ openedAt }) => Date.parse(openedAt)));
  return items.length > 0 ? `the longest for ${span(serverNow() - oldest)}` : 'all quiet';
}

function healthsOf({ items = [] }) {
  const words = Object.entries(HEALTH).map(([health, [, word]]) => {
    const number = items.filter(({ status }) => status.health === health).length;
    return number > 0 && `${number} ${word.toLowerCase()}`;
  });
  return words.filter(Boolean).join(', ') || 'none seen yet';
}

function drawTile([name, figure = '–', tone, note]) {
  const tile = element('div', tone);
  const value = element('dd');
  value.append(element('span', 'figure', String(figure)), element('span', 'sub', note));
  tile.append(element('dt', '', name), value);
  return tile;
}

/* The incident of the address: /#/incidents/<id> */

function incidentOfAddress() {
  const found = /^#\/incidents\/([^/]+)$/.exec(location.hash)?.[1];
  try {
    return found && decodeURIComponent(found);
  } catch {
    return undefined;
  }
}

const faultOfAddress = ({ linked }) =>
  linked?.error ? `The incident of this address cannot be shown: ${linked.error}` : '';

/** Goes there once for each address. */
function showChosen(id, linked) {
  if (id === undefined) shownIncident = undefined;
  if (id === undefined || id === shownIncident) return;
  shownIncident = id;
  if (linked?.error)
    return say(byId('trouble'), `The incident of this address cannot be shown: ${linked.error}`);
  const row = [...document.querySelectorAll('#incidents tbody tr')].find(({ dataset }) => dataset.id === id);
  row?.setAttribute('tabindex', '-1');
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: 'center' });
}

listenToRemovals({
  facts: resource => ({
    session,
    items: shown[resource]?.items ?? [],
    openIncidents: shown.open?.items ?? [],
  }),
  removed(name) {
    say(byId('announcer'), `${name} was removed`);
    wake();
  },
});
listenToAcknowledgements({ sessionNow: () => session, changed: () => wake() });
listenToForms({ signedIn: showSession, sessionNow: () => session, changePassword });
byId('sign-out').addEventListener('click', () => void leave());
window.addEventListener('hashchange', () => wake());
void begin();
