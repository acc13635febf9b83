import type { Schemas } from '@headgate/client';
import { type Command, Option } from 'commander';
import { DELIVERY_STATES } from '../storage/tables.ts';
import type { Finish } from './exit.ts';
import { nounCommand } from './noun.ts';

type Delivery = Schemas['Delivery'];

export const deliveriesCommand = (finish: Finish): Command =>
  nounCommand<Delivery>(
    {
      name: 'deliveries',
      description: 'what was sent, and what waits',
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'target', of: one => one.target },
        { name: 'state', of: one => one.state },
        { name: 'tells', of: one => one.status },
        { name: 'attempts', of: one => one.attempts },
        { name: 'created', of: one => one.createdAt },
        { name: 'next', of: one => one.nextAt },
        { name: 'last error', of: one => one.lastError },
      ],
      filters: [
        new Option('--state <state>', 'only those').choices(DELIVERY_STATES),
        new Option('--target <id>', 'only to that target'),
        new Option('--notification <id>', 'only of that notification'),
        new Option('--incident <id>', 'only of that incident'),
      ],
      list: ({ deliveries }, { state: asked, ...filters }) => {
        const state = DELIVERY_STATES.find(one => one === asked);
        return deliveries.list({ ...filters, ...(state && { state }) });
      },
      get: ({ deliveries }, id) => deliveries.get({ id }),
    },
    finish,
  );
