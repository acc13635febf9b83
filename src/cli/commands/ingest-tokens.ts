import type { Schemas } from '@headgate/client';
import { Argument, Command, Option } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { timeAhead } from '../options.ts';
import { type Finish, printError } from '../output/output.ts';
import { printItem } from '../output/table.ts';
import { resourceCommand } from '../resource-command.ts';
import { runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

type IngestToken = Schemas['IngestToken'];

export const ingestTokensCommand = (finish: Finish): Command =>
  resourceCommand<IngestToken, object, Schemas['IngestTokenChange']>(
    {
      name: 'ingest-tokens',
      description: 'with what senders may push the metrics of a pipeline',
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'pipeline', of: one => one.pipeline },
        { name: 'disabled', of: one => (one.enabled ? '' : 'disabled') },
        { name: 'expires', of: one => one.expiresAt },
        { name: 'last used', of: one => one.lastUsedAt },
        { name: 'description', of: one => one.description },
      ],
      filters: [new Option('--pipeline <id>', 'only of that pipeline')],
      list: ({ ingestTokens }, filters) => ingestTokens.list(filters),
      get: ({ ingestTokens }, id) => ingestTokens.get({ id }),
      update: ({ ingestTokens }, id, body) => ingestTokens.update({ id, body }),
      remove: ({ ingestTokens }, id) => ingestTokens.remove({ id }),
    },
    finish,
  )
    .addCommand(createCommand(finish))
    .addCommand(rotateCommand(finish));

interface CreateFlags extends ServerFlags {
  readonly pipeline: string;
  readonly id?: string;
  readonly description?: string;
  readonly expires?: string;
}

const createCommand = (finish: Finish): Command =>
  withServerOptions(new Command('create').description('make one, and show its secret this once'))
    .addOption(new Option('--pipeline <id>', 'whose metrics may be pushed with it').makeOptionMandatory())
    .addOption(new Option('--id <id>', 'what it is called; made up where left out'))
    .addOption(new Option('--description <text>', 'which sender has it'))
    .addOption(
      new Option(
        '--expires <time>',
        'when it ends: in how long, such as 90d, or a time such as 2026-12-31T00:00:00Z',
      ).argParser(text => timeAhead(text, systemClock.now())),
    )
    .action(({ pipeline, id, description, expires, ...flags }: CreateFlags) =>
      runOnServer(finish, flags, async ({ client }) => {
        const body = {
          pipeline,
          ...(id !== undefined && { id }),
          ...(description !== undefined && { description }),
          ...(expires !== undefined && { expiresAt: expires }),
        };
        printIssued(await client.ingestTokens.create({ body }), flags);
      }),
    );

interface RotateFlags extends ServerFlags {
  readonly grace?: string;
}

const rotateCommand = (finish: Finish): Command =>
  withServerOptions(new Command('rotate').description('give one another secret, and show it this once'))
    .addArgument(new Argument('<id>', 'its id, as `list` shows it'))
    .addOption(
      new Option(
        '--grace <duration>',
        'how long the secret before counts as well: 24h unless said, at most 7d',
      ),
    )
    .action((id: string, { grace, ...flags }: RotateFlags) =>
      runOnServer(finish, flags, async ({ client }) => {
        const body = grace === undefined ? {} : { grace };
        printIssued(await client.ingestTokens.rotate({ id, body }), flags);
      }),
    );

function printIssued(issued: Schemas['IssuedIngestToken'], flags: ServerFlags): void {
  printItem(issued, flags);
  if (flags.json !== true) printError('Keep the secret now: nobody can read it again.');
}
