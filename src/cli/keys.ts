import type { Schemas } from '@headgate/client';
import { Command, Option } from 'commander';
import { ALGORITHMS } from '../auth/keys.ts';
import { ask, printItem } from './ask.ts';
import type { Finish } from './exit.ts';
import { nounCommand } from './noun.ts';
import { type ServerFlags, withServer } from './session.ts';

type Key = Schemas['Key'];

export const keysCommand = (finish: Finish): Command =>
  nounCommand<Key>(
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
  withServer(new Command('rotate').description('let the next key sign from now on'))
    .option('--compromised', 'replace all keys and end every login, yours too')
    .addOption(new Option('--algorithm <name>', 'how it signs').choices(ALGORITHMS))
    .action(({ compromised = false, algorithm: asked, ...flags }: RotateFlags) => {
      const algorithm = ALGORITHMS.find(one => one === asked);
      const body = { compromised, ...(algorithm !== undefined && { algorithm }) };
      return ask(finish, flags, async ({ client }) => printItem(await client.keys.rotate({ body }), flags));
    });
