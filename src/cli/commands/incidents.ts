import type { Schemas } from '@headgate/client';
import { Argument, Command, Option } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/duration.ts';
import { timeAgo } from '../options.ts';
import { type Finish, print } from '../output/output.ts';
import { printItem, printList } from '../output/table.ts';
import { resourceCommand } from '../resource-command.ts';
import { runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

type Incident = Schemas['Incident'];
type IncidentEvent = Schemas['IncidentEvent'];

/** The targets that were notified, or `nobody` with the reason. */
function notifiedText({ notified, recipients, heldBecause }: Incident): string {
  const people = recipients.filter(({ isRecord }) => isRecord !== true);
  if (notified === 'somebody')
    return people.flatMap(({ outcome, target }) => (outcome === 'notified' ? [target] : [])).join(', ');
  if (heldBecause !== undefined) return `not yet: ${heldBecause}`;
  const reasons = people.map(({ target, reason }) =>
    reason === undefined ? target : `${target}: ${reason}`,
  );
  const word = { unknown: 'perhaps', waiting: 'not yet', nobody: 'nobody' }[notified];
  return `${word} (${reasons.length === 0 ? 'no target that alerts people' : reasons.join('; ')})`;
}

const acknowledgedText = ({ acknowledged }: Incident): string =>
  acknowledged === undefined
    ? ''
    : [acknowledged.by, acknowledged.note].filter(text => text !== undefined).join(': ');

export const incidentsCommand = (finish: Finish): Command =>
  resourceCommand<Incident>(
    {
      name: 'incidents',
      description: 'what is wrong, and what was',
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'state', of: one => one.state },
        { name: 'opened', of: one => one.openedAt },
        { name: 'closed', of: one => one.closedAt },
        { name: 'notification', of: one => one.notification },
        { name: 'notified', of: notifiedText },
        { name: 'acknowledged', of: acknowledgedText },
        { name: 'text', of: one => one.text },
      ],
      filters: [
        new Option('--state <state>', 'only those').choices(['open', 'closed']),
        new Option('--notification <id>', 'only of that notification'),
      ],
      list: ({ incidents }, { state, ...filters }) =>
        incidents.list({ ...filters, ...((state === 'open' || state === 'closed') && { state }) }),
      get: ({ incidents }, id) => incidents.get({ id }),
    },
    finish,
  )
    .addCommand(eventsCommand(finish))
    .addCommand(acknowledgeCommand(finish))
    .addCommand(unacknowledgeCommand(finish));

const idArgument = (): Argument => new Argument('<id>', 'its id, as `list` shows it');

const acknowledgeCommand = (finish: Finish): Command =>
  withServerOptions(
    new Command('acknowledge').description(
      'look after an open one: nobody is reminded of it, and it does not escalate',
    ),
  )
    .addArgument(idArgument())
    .addOption(new Option('--note <text>', 'what is being done about it'))
    .action((id: string, { note, ...flags }: ServerFlags & { readonly note?: string }) =>
      runOnServer(finish, flags, async ({ client }) =>
        printItem(
          await client.incidents.acknowledge({ id, body: note === undefined ? {} : { note } }),
          flags,
        ),
      ),
    );

const unacknowledgeCommand = (finish: Finish): Command =>
  withServerOptions(new Command('unacknowledge').description('look after an open one no longer'))
    .addArgument(idArgument())
    .action((id: string, flags: ServerFlags) =>
      runOnServer(finish, flags, async ({ client }) =>
        printItem(await client.incidents.unacknowledge({ id }), flags),
      ),
    );

/** An event with what it changed. */
type Change = IncidentEvent & { readonly change: string };

const eventsCommand = (finish: Finish): Command =>
  withServerOptions(
    new Command('events').description('list its changes, oldest first: also those that were sent to nobody'),
  )
    .addArgument(idArgument())
    .action((id: string, flags: ServerFlags) =>
      runOnServer(finish, flags, async ({ client }) => {
        const events: IncidentEvent[] = [];
        for await (const event of client.incidents.events({ id })) events.push(event);
        const { state } = await client.incidents.get({ id });
        printList<Change>(withChanges(events, state), CHANGE_COLUMNS, flags, 'no events');
      }),
    );

const CHANGE_COLUMNS = [
  { name: 'time', of: ({ _time }: Change) => new Date(_time * 1000).toISOString() },
  { name: 'status', of: ({ status }: Change) => status },
  { name: 'change', of: ({ change }: Change) => change },
  {
    name: 'flapping',
    of: ({ flapping, changes }: Change) => (flapping === true ? `${changes} changes` : ''),
  },
  { name: 'text', of: ({ _raw }: Change) => _raw },
];

/** What each event changed follows from the one before it, and from whether anything came after it. */
export const withChanges = (events: readonly IncidentEvent[], state: Incident['state']): readonly Change[] =>
  events.map((event, at) => {
    const isLast = at === events.length - 1;
    return { ...event, change: changeOf(event, events[at - 1], isLast && state === 'closed') };
  });

function changeOf({ status }: IncidentEvent, before: IncidentEvent | undefined, hasClosed: boolean): string {
  if (status === 'OK') return hasClosed ? 'resolved' : 'no longer met, alarm kept';
  if (before === undefined) return 'opened';
  return before.status === 'OK' ? 'met again' : 'reminder';
}

type Report = Schemas['Report'];

interface ReportFlags extends ServerFlags {
  readonly since: string;
  readonly until?: string;
}

const time = (text: string): string => timeAgo(text, systemClock.now());

export const reportCommand = (finish: Finish): Command =>
  withServerOptions(
    new Command('report').description(
      'show what alerted most, how soon somebody was notified, what nobody acknowledged, which targets failed, and what nothing watches',
    ),
  )
    .addOption(
      new Option('--since <time>', 'from then on: 7d, 12h, or a time such as 2026-01-31T08:00:00Z')
        .argParser(time)
        .default(time('7d'), '7d'),
    )
    .addOption(new Option('--until <time>', 'before then, in the same form').argParser(time))
    .action(({ since, until, ...flags }: ReportFlags) =>
      runOnServer(finish, flags, async ({ client }) => {
        const report = await client.report.get({ since, ...(until !== undefined && { until }) });
        if (flags.json === true) printItem(report, flags);
        else printReport(report);
      }),
    );

const milliseconds = (ms: number | null): string => (ms === null ? '-' : formatDuration(ms));

function printReport(report: Report): void {
  const { timeToNotify, unacknowledged, unwatched } = report;
  print(`${report.since} to ${report.until}: ${report.incidents} incidents`);
  print(
    `Time to notify: ${milliseconds(timeToNotify.p50Ms)} (p50), ${milliseconds(timeToNotify.p99Ms)} (p99), of ${timeToNotify.incidents} incidents`,
  );
  print('\nNoisiest notifications');
  printList(
    report.noisiest,
    [
      { name: 'notification', of: one => one.notification },
      { name: 'incidents', of: one => one.incidents },
      { name: 'deliveries', of: one => one.deliveries },
    ],
    {},
    'no incidents',
  );
  print(`\nIncidents that nobody acknowledged: ${unacknowledged.total}`);
  if (unacknowledged.total > 0)
    printList(
      unacknowledged.incidents,
      [
        { name: 'id', of: one => one.id },
        { name: 'state', of: one => one.state },
        { name: 'opened', of: one => one.openedAt },
        { name: 'notification', of: one => one.notification },
        { name: 'text', of: one => one.text },
      ],
      {},
      'none',
    );
  print('\nTargets that failed');
  printList(
    report.failedTargets,
    [
      { name: 'target', of: one => one.target },
      { name: 'deliveries', of: one => one.deliveries },
      { name: 'refused', of: one => one.refused },
      { name: 'exhausted', of: one => one.exhausted },
      { name: 'unknown', of: one => one.unknown },
      { name: 'retries', of: one => one.retries },
    ],
    {},
    'none',
  );
  print(`\nInputs and outputs without any notification: ${unwatched.total}`);
  if (unwatched.total > 0)
    printList(
      unwatched.components,
      [
        { name: 'component', of: one => one.component },
        { name: 'kind', of: one => one.kind },
        { name: 'group', of: one => one.group },
        { name: 'pipeline', of: one => one.pipeline },
      ],
      {},
      'none',
    );
}
