import type { Schemas } from '@headgate/client';
import { Command, Option } from 'commander';
import { ALGORITHMS } from '../../auth/tokens/algorithms.ts';
import type { Finish } from '../output/output.ts';
import { printItem } from '../output/table.ts';
import { resourceCommand } from '../resource-command.ts';
import { runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

type Key = Schemas['Key'];

export const keysCommand = (finish: Finish): Command =>
  resourceCommand<Key>(
    {
      name: 'keys',
      description: 'what tokens are signed with',
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'algorithm', of: one => one.algorithm },
        { name: 'state', of: one => one.state },
        { name: 'since', of: one => one.since },
        { name: 'ends', of: one => one.endsAt ?? '' },
      ],
      list: ({ keys }) => keys.list(),
    },
    finish,
  ).addCommand(rotateCommand(finish));

interface RotateFlags extends ServerFlags {
  readonly compromised?: boolean;
  readonly algorithm?: string;
}

const rotateCommand = (finish: Finish): Command =>
  withServerOptions(new Command('rotate').description('let the next key sign from now on'))
    .option('--compromised', 'replace all keys and end every login, yours too')
    .addOption(new Option('--algorithm <name>', 'how it signs').choices(ALGORITHMS))
    .action(({ compromised = false, algorithm: asked, ...flags }: RotateFlags) => {
      const algorithm = ALGORITHMS.find(one => one === asked);
      const body = { compromised, ...(algorithm !== undefined && { algorithm }) };
      return runOnServer(finish, flags, async ({ client }) =>
        printItem(await client.keys.rotate({ body }), flags),
      );
    });
