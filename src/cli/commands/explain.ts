import { type Client, HeadgateError, type Schemas } from '@headgate/client';
import { Argument, Command, Option } from 'commander';
import { formatDuration } from '../../lib/duration.ts';
import { AppError } from '../../lib/errors.ts';
import { readBody } from '../input.ts';
import { type Finish, print } from '../output/output.ts';
import { asJson } from '../output/table.ts';
import { runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

type Explanation = Schemas['Explanation'];
type Explained = Explanation['notifications'][number];
type Subject = Explained['subjects'][number];
type Fact = Subject['facts'][number];
type Message = NonNullable<Explained['message']>;
type Recipient = Message['recipients'][number];

const KINDS = ['notification', 'component', 'incident'] as const;
type Kind = (typeof KINDS)[number];

interface Flags extends ServerFlags {
  readonly event?: string;
}

export const explainCommand = (finish: Finish): Command =>
  withServerOptions(
    new Command('explain').description(
      'explain why something alerts or does not, when it will, who is notified, and with which message',
    ),
  )
    .addArgument(new Argument('[kind]', `${KINDS.join(', ')}; left out, the first of them that has the id`))
    .addArgument(new Argument('[id]', 'id of the notification or incident, `type:id` or id of the component'))
    .addOption(
      new Option(
        '--event <path>',
        'YAML or JSON of an event for /ingest/events, - for standard input; nothing is sent',
      ),
    )
    .action((first: string | undefined, second: string | undefined, { event, ...flags }: Flags) =>
      runOnServer(finish, flags, async ({ client }) => {
        const found = await answerFor(client, first, second, event);
        print(flags.json === true ? asJson(found) : textOf(found).join('\n'));
      }),
    );

async function answerFor(
  client: Client,
  first: string | undefined,
  second: string | undefined,
  event: string | undefined,
): Promise<Explanation> {
  if (event !== undefined && first === undefined)
    return client.explain.event({ body: { event: await readBody<Record<string, unknown>>(event) } });
  if (event !== undefined || first === undefined)
    throw new AppError('invalid-request', 'name what to explain, or a file with --event: one of the two');
  if (second === undefined) return firstThatHas(client, first);
  const kind = KINDS.find(one => one === first);
  if (kind === undefined) throw new AppError('invalid-request', `'${first}' is none of ${KINDS.join(', ')}`);
  return ask(client, kind, second);
}

const ask = (client: Client, kind: Kind, id: string): Promise<Explanation> =>
  client.explain.get({ [kind]: id });

async function firstThatHas(client: Client, id: string): Promise<Explanation> {
  let last: unknown;
  for (const kind of KINDS)
    try {
      return await ask(client, kind, id);
    } catch (error) {
      if (!(error instanceof HeadgateError) || error.status !== 404) throw error;
      // What is said of a notification helps most: it is asked about most often.
      last ??= error;
    }
  throw last;
}

/** The answer as lines, the most important first. */
function textOf({ about, at, note, incident, notifications, total }: Explanation): readonly string[] {
  const lines = [`${about.kind} ${about.id} at ${at}`];
  if (note !== undefined) lines.push(sentence(note));
  if (incident !== undefined) lines.push(...incidentLines(incident));
  for (const one of notifications) lines.push('', ...notificationLines(one));
  if (total > notifications.length) lines.push('', `And ${total - notifications.length} more notifications.`);
  return lines;
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function incidentLines({
  state,
  openedAt,
  closedAt,
  text,
  notified,
  acknowledgedBy,
  recipients,
}: NonNullable<Explanation['incident']>): readonly string[] {
  return [
    `${text} (${state} since ${state === 'closed' ? closedAt : openedAt})`,
    `Notified: ${notified}${acknowledgedBy === undefined ? '' : `; acknowledged by ${acknowledgedBy}`}`,
    ...recipients.map(
      ({ target, outcome, reason }) => `  ${target}: ${outcome}${reason === undefined ? '' : `, ${reason}`}`,
    ),
  ];
}

function notificationLines({ message, ...one }: Explained): readonly string[] {
  const open = one.subjects.filter(({ incident }) => incident !== undefined).length;
  const lines = [
    `Notification ${one.notification} (${one.condition}, ${one.severity}): ${one.disabled ? 'disabled' : `${one.total} matched, ${open} with an open incident`}`,
  ];
  if (one.note !== undefined) lines.push(`  ${sentence(one.note)}`);
  for (const subject of one.subjects) lines.push(...subjectLines(subject).map(line => `  ${line}`));
  if (one.total > one.subjects.length && one.subjects.length > 0)
    lines.push(`  And ${one.total - one.subjects.length} more.`);
  if (one.repeatMs !== undefined)
    lines.push(`  While an incident is open it reminds every ${formatDuration(one.repeatMs)}.`);
  if (message !== undefined)
    lines.push(...messageLines(message, one.escalateAfterMs).map(line => `  ${line}`));
  return lines;
}

const STATES: Readonly<Record<Subject['state'], string>> = {
  open: 'ALERTING',
  kept: 'ALERTING, though its condition is not met any more',
  pending: 'ABOUT TO ALERT',
  ok: 'ok',
  unknown: 'UNKNOWN',
};

function subjectLines({ name, component, incident, firesAt, ...one }: Subject): readonly string[] {
  const place = component === undefined ? '' : ` (${component.kind} of pipeline ${component.pipeline})`;
  const because = one.reason === undefined ? '' : `: ${one.reason}`;
  return [
    `${name}${place}: ${STATES[one.state]}${because}`,
    ...(incident === undefined
      ? []
      : [`  since ${incident.openedAt}: ${incident.text} (incident ${incident.id})`]),
    ...one.facts.map(fact => `  ${factText(fact)}`),
    ...(firesAt === undefined ? [] : [`  alerts at ${firesAt} at the earliest, if ${one.provided}`]),
  ];
}

function factText({ name, value, unit, alarm, windowMs, observedMs, unknown }: Fact): string {
  const window = windowMs === undefined ? '' : ` in ${formatDuration(windowMs)}`;
  const part =
    windowMs === undefined || observedMs === undefined || observedMs >= windowMs
      ? ''
      : ` (only ${formatDuration(observedMs)} of that was watched)`;
  const limit = alarm === undefined ? '' : `; ${alarm.when} ${amount(alarm.limit, unit)} is an alarm`;
  const known = value === null ? 'unknown' : amount(value, unit);
  return `${name}: ${known}${window}${part}${limit}${unknown === undefined ? '' : ` (${unknown})`}`;
}

function amount(value: number, unit: Fact['unit']): string {
  if (unit === 'milliseconds') return formatDuration(value);
  const rounded = Number.isInteger(value) ? value : Number(value.toPrecision(4));
  return unit === 'number' ? String(rounded) : `${rounded} ${unit}`;
}

function messageLines(
  { about, recipients, deadEnds, warnings, event }: Message,
  escalateAfterMs: number | undefined,
): readonly string[] {
  return [
    about === undefined ? 'A sample of its message:' : `Its next message, about ${about}:`,
    `  [${event.status}] ${event._raw}`,
    recipients.length === 0 ? 'Nobody gets it.' : 'Who gets it:',
    ...deadEnds.map(id => `  nobody by router ${id}: none of its routes takes it`),
    ...recipients.flatMap(one => recipientLines(one, escalateAfterMs).map(line => `  ${line}`)),
    ...warnings.map(warning => `Warning: ${warning}`),
  ];
}

function recipientLines(
  { target, type, role, at, holds, problem, message, ...one }: Recipient,
  escalateAfterMs: number | undefined,
): readonly string[] {
  const way = one.routes.map(
    ({ router, place, filter }) => ` by ${router}, ${place}${filter === undefined ? '' : ` (${filter})`}`,
  );
  const why = {
    target: '',
    fallback: `, if ${one.insteadOf} does not take it`,
    escalation: `, if nobody acknowledges it within ${formatDuration(escalateAfterMs ?? 0)}`,
  }[role];
  return [
    `${target} (${type ?? 'no such target'})${way.join('')}${why}${one.isRecord === true ? ', which alerts nobody' : ''}`,
    ...(problem === undefined ? [] : [`  PROBLEM: ${problem}`]),
    ...holds.map(({ because }) => `  held: ${because}`),
    ...(at === undefined ? [] : [`  at ${at} at the earliest`]),
    ...(one.warning === undefined ? [] : [`  warning: ${one.warning}`]),
    ...(message === undefined ? [] : renderedLines(message).map(line => `  ${line}`)),
  ];
}

function renderedLines(message: NonNullable<Recipient['message']>): readonly string[] {
  const { kind, method, url, body = '', from, to = [], subject, title, text = '', reason } = message;
  const indented = (content: string): string[] =>
    content
      .trimEnd()
      .split('\n')
      .map(line => `  ${line}`);
  switch (kind) {
    case 'request':
      return [`${method} ${url}`, ...indented(body)];
    case 'mail':
      return [`mail from ${from} to ${to.join(', ')}: ${subject}`, ...indented(text)];
    case 'text':
      return [...(title === undefined ? [] : [title]), ...indented(text)];
    case 'nothing':
      return [`nothing is sent: ${reason}`];
  }
}
