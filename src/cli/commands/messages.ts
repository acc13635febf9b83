import type { Schemas } from '@headgate/client';
import type { Command } from 'commander';
import type { Finish } from '../output/output.ts';
import { resourceCommand } from '../resource-command.ts';

type Message = Schemas['Message'];

export const messagesCommand = (finish: Finish): Command =>
  resourceCommand<Message, Schemas['NewMessage']>(
    {
      name: 'messages',
      description: 'the bulletin that people are shown',
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'time', of: one => new Date(one.time).toISOString() },
        { name: 'severity', of: one => one.severity },
        { name: 'title', of: one => one.title },
        { name: 'text', of: one => one.text },
      ],
      list: ({ messages }) => messages.list(),
      get: ({ messages }, id) => messages.get({ id }),
      create: ({ messages }, body) => messages.create({ body }),
      remove: ({ messages }, id) => messages.remove({ id }),
    },
    finish,
  );
