import {
  ago,
  amount,
  count,
  DELIVERY,
  ENGINE,
  GONE,
  HEALTH,
  NOTIFIED,
  SEVERITY_TONE,
  serverNow,
  span,
} from './words.js';

/**
 * What each table says. `wide` columns take the room that is left, `short` and `number` ones as much as they need;
 * `full` cells have a line of their own where rows are cards. `cell` answers the parts of a cell:
 * `{text, tone?, href?, time?}`, `{text, action, label}` of a button, or `{trend}`; what is falsy is left out.
 */

const mark = ([tone, text] = ['idle', 'unknown']) => ({ text, tone: `tone ${tone}` });
const small = text => text && { text, tone: 'sub' };

const incidentHref = id => `#/incidents/${encodeURIComponent(id)}`;

export const nameOf = item => `${item.type}:${item.headgate.engineId}`;

/** What its incidents are about. */
export const subjectOf = item => `${item.headgate.pipeline}/${nameOf(item)}`;

const alarmsOn = (item, openIncidents) =>
  openIncidents
    .filter(({ subject }) => subject === subjectOf(item))
    .map(({ id, condition, severity }) => ({
      text: `Alarm: ${condition}`,
      tone: `tone ${SEVERITY_TONE[severity] ?? 'bad'} alarm`,
      href: incidentHref(id),
    }));

/** Those of `inputs` or `outputs`. What is gone can be removed by who may. */
const componentColumns = resource => [
  {
    label: 'Name',
    wide: true,
    full: true,
    cell: item => [
      { text: nameOf(item), tone: 'strong' },
      small(`${item.headgate.pipeline}${item.group === 'default' ? '' : ` in ${item.group}`}`),
    ],
  },
  {
    label: 'Health',
    full: true,
    cell: (item, { openIncidents, changeable = [] }) => [
      ...alarmsOn(item, openIncidents),
      mark(item.status.presence === 'gone' ? GONE : HEALTH[item.status.health]),
      small(item.status.error?.message),
      item.status.presence === 'gone' &&
        changeable.includes(resource) && {
          text: 'Remove',
          action: 'remove',
          label: `Remove ${nameOf(item)}`,
        },
    ],
  },
  { label: 'Last data', short: true, cell: item => [ago(item.headgate.lastDataAt)] },
  { label: 'Events/s', number: true, cell: item => [{ text: amount(item.rate.events, '') }] },
  { label: 'Bytes/s', number: true, cell: item => [{ text: amount(item.rate.bytes, 'B') }] },
  { label: 'Trend', short: true, full: true, cell: item => [{ trend: item.rate.trend }] },
];

const stateOfIncident = ({ state, severity, keptFiring }) =>
  mark(
    state === 'open'
      ? [SEVERITY_TONE[severity] ?? 'bad', keptFiring ? 'Open, ending' : 'Open']
      : ['good', 'Resolved'],
  );

/** Who was notified, and when; of others why not. A record, such as the bulletin, is nobody. */
function notifiedParts({ notified, heldBecause, recipients }) {
  const people = recipients.filter(({ isRecord }) => !isRecord);
  const parts = people.map(({ target, outcome, at, heldBecause: held, reason }) =>
    outcome === 'notified'
      ? { ...ago(at), text: `${target}, ${ago(at).text}` }
      : small(
          held !== undefined && held === heldBecause ? target : `${target}: ${held ?? reason ?? outcome}`,
        ),
  );
  if (notified === 'somebody') return parts;
  if (heldBecause !== undefined) return [mark(['idle', capital(heldBecause)]), ...parts];
  return [mark(NOTIFIED[notified]), ...(parts.length > 0 ? parts : [small('no target of it alerts people')])];
}

/** Who looks after an incident, and buttons for who may say so. */
function acknowledgedParts({ state, text, acknowledged, escalatedAt }, mayChange) {
  const isOpen = state === 'open';
  const action = acknowledged === undefined ? 'acknowledge' : 'unacknowledge';
  const label = acknowledged === undefined ? 'Acknowledge' : 'Take back';
  return [
    escalatedAt !== undefined && small(`escalated ${ago(escalatedAt).text}`),
    acknowledged !== undefined && {
      ...ago(acknowledged.at),
      text: `Acknowledged by ${acknowledged.by}, ${ago(acknowledged.at).text}`,
    },
    acknowledged?.note !== undefined && small(acknowledged.note),
    isOpen && mayChange && { text: label, action, label: `${label}: ${text}` },
  ];
}

const capital = text => text.charAt(0).toUpperCase() + text.slice(1);

const lasted = ({ openedAt, closedAt }) =>
  span((closedAt === undefined ? serverNow() : Date.parse(closedAt)) - Date.parse(openedAt));

export const TABLES = {
  incidents: {
    empty: 'Nothing has gone silent. Incidents show here while they last, and for a while after.',
    columns: [
      { label: 'State', short: true, full: true, cell: item => [stateOfIncident(item)] },
      {
        label: 'What',
        wide: true,
        full: true,
        cell: item => [
          { text: item.text, href: incidentHref(item.id) },
          small(item.notification),
          item.flapping && small(`flapping, ${item.changes} changes`),
          item.closeReason !== 'resolved' && small(item.closeReason),
        ],
      },
      {
        label: 'Notified',
        full: true,
        cell: (item, { changeable = [] }) => [
          ...notifiedParts(item),
          ...acknowledgedParts(item, changeable.includes('incidents')),
        ],
      },
      { label: 'Severity', short: true, cell: item => [{ text: item.severity }] },
      { label: 'Opened', short: true, cell: item => [ago(item.openedAt)] },
      { label: 'Lasted', number: true, cell: item => [{ text: lasted(item) }] },
    ],
  },
  inputs: {
    empty: 'No input was seen yet. Name a pipeline in headgate.yml, and what it reads shows here.',
    columns: componentColumns('inputs'),
  },
  outputs: { empty: 'No output was seen yet.', columns: componentColumns('outputs') },
  deliveries: {
    empty: 'Nothing was sent yet. Each alarm and each resolution shows here, once for every target.',
    columns: [
      { label: 'State', short: true, full: true, cell: item => [mark(DELIVERY[item.state])] },
      {
        label: 'Message',
        wide: true,
        full: true,
        cell: item => [{ text: `${item.status} ${item.notification}` }, small(item.subject)],
      },
      { label: 'Target', short: true, cell: item => [{ text: item.target }] },
      { label: 'Attempts', number: true, cell: item => [{ text: String(item.attempts) }] },
      { label: 'Made', short: true, cell: item => [ago(item.createdAt)] },
      { label: 'Reason', full: true, cell: item => [small(item.heldBecause ?? item.lastError)] },
    ],
  },
  messages: {
    empty: 'No messages.',
    columns: [
      { label: 'Severity', cell: item => [mark([SEVERITY_TONE[item.severity] ?? 'idle', item.severity])] },
      { label: 'Text', cell: item => [{ text: item.text }] },
      { label: 'From', cell: item => [small(item.id), { ...ago(item.time), tone: 'sub' }] },
    ],
  },
  engines: {
    empty: 'No pipeline is configured. Name one in headgate.yml.',
    columns: [
      {
        label: 'Pipeline',
        cell: item => [{ text: item.id, tone: 'strong' }, small(item.engine)],
      },
      {
        label: 'State',
        cell: item => [
          mark(ENGINE[item.state]),
          item.error && { text: item.error, tone: 'alarm' },
          !item.error && small(item.uncounted?.reason),
          { ...ago(item.lastAt), tone: 'sub' },
        ],
      },
      {
        label: 'Size',
        cell: item => [small(`${count(item.components, 'component')}, ${count(item.instances, 'instance')}`)],
      },
    ],
  },
};
