import type { Schemas } from '@headgate/client';
import { type Command, Option } from 'commander';
import type { Finish } from '../output/output.ts';
import { resourceCommand } from '../resource-command.ts';

type Incident = Schemas['Incident'];

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
  );
