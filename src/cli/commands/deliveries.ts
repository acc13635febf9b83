import type { Schemas } from '@headgate/client';
import { Argument, Command, Option } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { DELIVERY_STATES } from '../../storage/tables.ts';
import { timeAgo } from '../options.ts';
import type { Finish } from '../output/output.ts';
import { printItem } from '../output/table.ts';
import { resourceCommand } from '../resource-command.ts';
import { runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

type Delivery = Schemas['Delivery'];

const now = systemClock.now;

export const deliveriesCommand = (finish: Finish): Command =>
  resourceCommand<Delivery>(
    {
      name: 'deliveries',
      description: 'what was sent, and what waits',
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'target', of: one => one.target },
        { name: 'state', of: one => one.state },
        { name: 'status', of: one => one.status },
        { name: 'attempts', of: one => one.attempts },
        { name: 'created', of: one => one.createdAt },
        { name: 'next', of: one => one.nextAt },
        { name: 'reason', of: one => one.heldBecause ?? one.lastError },
      ],
      filters: [
        new Option('--state <state>', 'only those').choices(DELIVERY_STATES),
        new Option('--target <id>', 'only to that target'),
        new Option('--notification <id>', 'only of that notification'),
        new Option('--incident <id>', 'only of that incident'),
        sinceOption(),
        untilOption(),
      ],
      list: ({ deliveries }, { state: asked, ...filters }) => {
        const state = DELIVERY_STATES.find(one => one === asked);
        return deliveries.list({ ...filters, ...(state && { state }) });
      },
      get: ({ deliveries }, id) => deliveries.get({ id }),
    },
    finish,
  )
    .addCommand(retryCommand(finish))
    .addCommand(replayCommand(finish));

const retryCommand = (finish: Finish): Command =>
  withServerOptions(new Command('retry').description('try one at once, also one that was given up'))
    .addArgument(new Argument('<id>', 'its id, as `list` shows it'))
    .action((id: string, flags: ServerFlags) =>
      runOnServer(finish, flags, async ({ client }) =>
        printItem(await client.deliveries.retry({ id }), flags),
      ),
    );

interface ReplayFlags extends ServerFlags {
  readonly since: string;
  readonly until?: string;
  readonly target?: string;
  readonly notification?: string;
  readonly state?: string;
}

const GIVEN_UP = ['refused', 'exhausted', 'unknown'] as const;

const replayCommand = (finish: Finish): Command =>
  withServerOptions(new Command('replay').description('put what was given up back into the queue'))
    .addOption(sinceOption().makeOptionMandatory())
    .addOption(untilOption())
    .addOption(new Option('--target <id>', 'only to that target'))
    .addOption(new Option('--notification <id>', 'only of that notification'))
    .addOption(
      new Option('--state <state>', 'only those; without it refused and exhausted').choices(GIVEN_UP),
    )
    .action(({ json, profile, state, ...range }: ReplayFlags) => {
      const flags = { ...(json !== undefined && { json }), ...(profile !== undefined && { profile }) };
      const states = GIVEN_UP.filter(one => one === state);
      return runOnServer(finish, flags, async ({ client }) =>
        printItem(
          await client.deliveries.replay({ body: { ...range, ...(states.length > 0 && { states }) } }),
          flags,
        ),
      );
    });

const sinceOption = (): Option =>
  new Option(
    '--since <time>',
    'made then or later: 2h, 30m, or a time such as 2026-01-31T08:00:00Z',
  ).argParser(text => timeAgo(text, now()));

const untilOption = (): Option =>
  new Option('--until <time>', 'made before, in the same form').argParser(text => timeAgo(text, now()));
