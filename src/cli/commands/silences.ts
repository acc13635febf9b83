import type { Schemas } from '@headgate/client';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { timeAhead } from '../options.ts';
import type { Finish } from '../output/output.ts';
import { printItem } from '../output/table.ts';
import { resourceCommand } from '../resource-command.ts';
import { runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

type Silence = Schemas['Silence'];
type Matcher = Schemas['Silence']['matchers'][number];

const STATES = ['pending', 'active', 'expired'] as const;
const isState = (text: string | undefined): text is (typeof STATES)[number] =>
  STATES.some(state => state === text);

export const silencesCommand = (finish: Finish): Command =>
  resourceCommand<Silence>(
    {
      name: 'silences',
      description: 'spans of quiet for alarms that matchers fit',
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'state', of: one => one.state },
        { name: 'ends', of: one => one.endsAt },
        { name: 'until', of: one => one.until },
        { name: 'matchers', of: one => one.matchers.map(textOf).join(' ') },
        { name: 'author', of: one => one.createdBy },
        { name: 'comment', of: one => one.comment },
      ],
      filters: [new Option('--state <state>', 'only those').choices([...STATES])],
      list: ({ silences }, { state }) => silences.list(isState(state) ? { state } : {}),
      get: ({ silences }, id) => silences.get({ id }),
    },
    finish,
  )
    .addCommand(addCommand(finish))
    .addCommand(extendCommand(finish))
    .addCommand(expireCommand(finish));

export const inhibitionsCommand = (finish: Finish): Command =>
  resourceCommand<Schemas['Inhibition'], Schemas['InhibitionSettings'], Schemas['InhibitionChange']>(
    {
      name: 'inhibitions',
      description: 'rules that hold alarms back while another incident is open',
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'when', of: one => one.when.map(textOf).join(' ') },
        { name: 'hold', of: one => one.hold.map(textOf).join(' ') },
        { name: 'equal', of: one => one.equal.join(', ') },
      ],
      list: ({ inhibitions }) => inhibitions.list(),
      get: ({ inhibitions }, id) => inhibitions.get({ id }),
      create: ({ inhibitions }, body) => inhibitions.create({ body }),
      update: ({ inhibitions }, id, body) => inhibitions.update({ id, body }),
      remove: ({ inhibitions }, id) => inhibitions.remove({ id }),
    },
    finish,
  );

const textOf = ({ name, op, value }: Matcher): string => `${name}${op}${value}`;

const MATCHER = /^([^=!~]+)(=~|!~|!=|=)(.*)$/s;

function parseMatcher(text: string, before: readonly Matcher[] = []): Matcher[] {
  const [, name = '', op = '', value = ''] = MATCHER.exec(text) ?? [];
  const known = (['=', '!=', '=~', '!~'] as const).find(one => one === op);
  if (known === undefined)
    throw new InvalidArgumentError(
      "It must be a field, an operator and a value, such as 'input=syslog:app'.",
    );
  return [...before, { name: name.trim(), op: known, value }];
}

const endOption = (): Option =>
  new Option('--for <time>', 'until when: for how long from now, such as 2h, or a time').argParser(text =>
    timeAhead(text, systemClock.now()),
  );

interface AddFlags extends ServerFlags {
  readonly comment: string;
  readonly id?: string;
  readonly from?: string;
  readonly for?: string;
  readonly untilResolved?: true;
}

const addCommand = (finish: Finish): Command =>
  withServerOptions(new Command('add').description('silence the alarms that all matchers fit'))
    .addArgument(
      new Argument(
        '<matchers...>',
        "fields of events with =, !=, =~ or !~ and a value, such as 'input=~syslog:.*'",
      ).argParser(parseMatcher),
    )
    .addOption(new Option('--comment <text>', 'why').makeOptionMandatory())
    .addOption(endOption())
    .addOption(
      new Option('--until-resolved', 'until the last incident that it holds back is over, 7 days at most'),
    )
    .addOption(
      new Option('--from <time>', 'when it begins: in how long, or a time; by default now').argParser(text =>
        timeAhead(text, systemClock.now()),
      ),
    )
    .addOption(new Option('--id <id>', 'what it is called; made up where left out'))
    .action((matchers: Matcher[], { comment, id, from, for: endsAt, untilResolved, ...flags }: AddFlags) =>
      runOnServer(finish, flags, async ({ client }) => {
        const body = {
          matchers,
          comment,
          ...(id !== undefined && { id }),
          ...(from !== undefined && { startsAt: from }),
          ...(endsAt !== undefined && { endsAt }),
          ...(untilResolved === true && { until: 'resolved' as const }),
        };
        printItem(await client.silences.create({ body }), flags);
      }),
    );

const idArgument = (): Argument => new Argument('<id>', 'its id, as `list` shows it');

const extendCommand = (finish: Finish): Command =>
  withServerOptions(new Command('extend').description('let one that is not over end at another time'))
    .addArgument(idArgument())
    .addOption(endOption().makeOptionMandatory())
    .action((id: string, { for: endsAt = '', ...flags }: ServerFlags & { readonly for?: string }) =>
      runOnServer(finish, flags, async ({ client }) =>
        printItem(await client.silences.update({ id, body: { endsAt } }), flags),
      ),
    );

const expireCommand = (finish: Finish): Command =>
  withServerOptions(new Command('expire').description('end one now'))
    .addArgument(idArgument())
    .action((id: string, flags: ServerFlags) =>
      runOnServer(finish, flags, async ({ client }) =>
        printItem(await client.silences.expire({ id }), flags),
      ),
    );
