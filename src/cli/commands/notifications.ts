import type { Schemas } from '@headgate/client';
import { Argument, Command, Option } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { readBody } from '../input.ts';
import { timeAgo } from '../options.ts';
import { type Finish, print } from '../output/output.ts';
import { asJson, printList } from '../output/table.ts';
import { resourceCommand } from '../resource-command.ts';
import { runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

type Notification = Schemas['Notification'];

export const notificationsCommand = (finish: Finish): Command =>
  resourceCommand<Notification, Schemas['NotificationSettings'], Schemas['NotificationChange']>(
    {
      name: 'notifications',
      description: 'rules that decide who is notified of what',
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'condition', of: one => one.condition },
        { name: 'about', of: one => ('name' in one.conf ? one.conf.name : undefined) },
        { name: 'targets', of: one => one.targets.join(', ') },
        { name: 'severity', of: one => one.severity },
        { name: 'disabled', of: one => (one.disabled ? 'disabled' : '') },
        { name: 'warning', of: one => one.headgate?.warning },
      ],
      filters: [new Option('--group <group>', 'only of that group')],
      list: ({ notifications }, { group }) =>
        group === undefined ? notifications.list() : notifications.listInGroup({ group }),
      get: ({ notifications }, id) => notifications.get({ id }),
      create: ({ notifications }, body) => notifications.create({ body }),
      update: ({ notifications }, id, body) => notifications.update({ id, body }),
      remove: ({ notifications }, id) => notifications.remove({ id }),
    },
    finish,
  );

type Backtest = Schemas['Backtest'];

interface Flags extends ServerFlags {
  readonly file?: string;
  readonly since: string;
  readonly until?: string;
}

const time = (text: string): string => timeAgo(text, systemClock.now());

export const backtestCommand = (finish: Finish): Command =>
  withServerOptions(
    new Command('backtest').description('show what a notification would have done in a time that is over'),
  )
    .addArgument(new Argument('[notification]', 'its id; left out with --file'))
    .addOption(new Option('--file <path>', 'YAML or JSON of one that is not saved, - for standard input'))
    .addOption(
      new Option('--since <time>', 'since when: how long ago, or a time')
        .argParser(time)
        .default(time('24h'), '24h'),
    )
    .addOption(new Option('--until <time>', 'until when; left out, now').argParser(time))
    .action((id: string | undefined, { file, since: from, until, ...flags }: Flags) =>
      runOnServer(finish, flags, async ({ client }) => {
        const span = { from, ...(until !== undefined && { to: until }) };
        if ((id === undefined) === (file === undefined))
          throw new AppError('invalid-request', 'name a notification, or a file with --file: one of the two');
        const found =
          id === undefined
            ? await client.notifications.backtestDraft({
                body: { ...span, notification: await readBody<Record<string, unknown>>(file ?? '-') },
              })
            : await client.notifications.backtest({ id, body: span });
        if (flags.json) print(asJson(found));
        else printBacktest(found);
      }),
    );

function printBacktest(found: Backtest): void {
  const { notification, from, to, matched, incidentCount, messageCount, coverage, reasons } = found;
  print(
    `${notification} from ${from} to ${to}: ${incidentCount} incident(s) and ${messageCount} message(s) on ${matched} input(s) and output(s)`,
  );
  for (const { from: begin, to: end } of coverage.missing)
    print(`nothing was recorded from ${begin} to ${end}`);
  for (const reason of reasons) print(`may differ: ${reason}`);
  if (found.incidents.length > 0)
    printList(
      found.incidents,
      [
        { name: 'opened', of: one => one.openedAt },
        { name: 'closed', of: one => one.closedAt ?? 'open' },
        { name: 'subject', of: one => one.subject },
        { name: 'text', of: one => one.text },
      ],
      {},
      '',
    );
  const counts = new Map<string, number>();
  for (const { target } of found.messages) counts.set(target, (counts.get(target) ?? 0) + 1);
  for (const [target, count] of counts) print(`${target}: ${count} message(s)`);
}
