import type { Schemas } from '@headgate/client';
import { Command } from 'commander';
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
}

const rotateCommand = (finish: Finish): Command =>
  withServer(new Command('rotate').description('let the next key sign from now on'))
    .option('--compromised', 'replace all keys and end every login, yours too')
    .action(({ compromised = false, ...flags }: RotateFlags) =>
      ask(finish, flags, async ({ client }) =>
        printItem(await client.keys.rotate({ body: { compromised } }), flags),
      ),
    );
