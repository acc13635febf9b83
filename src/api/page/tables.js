import {
  ago,
  amount,
  count,
  DELIVERY,
  ENGINE,
  GONE,
  HEALTH,
  SEVERITY_TONE,
  serverNow,
  span,
} from './words.js';

/**
 * What each table says. `wide` columns take the room that is left, `short` and `number` ones as much as they need;
 * `full` cells have a line of their own where rows are cards. `cell` answers the parts of a cell:
 * `{text, tone?, href?, time?}` or `{trend}`; what is falsy is left out.
 */

const mark = ([tone, text] = ['idle', 'unknown']) => ({ text, tone: `tone ${tone}` });
const small = text => text && { text, tone: 'sub' };

const incidentHref = id => `#/incidents/${encodeURIComponent(id)}`;

const nameOf = item => `${item.type}:${item.headgate.engineId}`;

const alarmsOn = (item, openIncidents) =>
  openIncidents
    .filter(incident => incident.subject === `${item.headgate.pipeline}/${nameOf(item)}`)
    .map(({ id, condition, severity }) => ({
      text: `Alarm: ${condition}`,
      tone: `tone ${SEVERITY_TONE[severity] ?? 'bad'} alarm`,
      href: incidentHref(id),
    }));

const componentColumns = [
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
    cell: (item, { openIncidents }) => [
      ...alarmsOn(item, openIncidents),
      mark(item.status.presence === 'gone' ? GONE : HEALTH[item.status.health]),
      small(item.status.error?.message),
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
      { label: 'Severity', short: true, cell: item => [{ text: item.severity }] },
      { label: 'Opened', short: true, cell: item => [ago(item.openedAt)] },
      { label: 'Lasted', number: true, cell: item => [{ text: lasted(item) }] },
    ],
  },
  inputs: {
    empty: 'No input was seen yet. Name a pipeline in headgate.yml, and what it reads shows here.',
    columns: componentColumns,
  },
  outputs: { empty: 'No output was seen yet.', columns: componentColumns },
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
      { label: 'Last error', full: true, cell: item => [small(item.lastError)] },
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
