import type { Schemas } from '@headgate/client';
import { type Command, Option } from 'commander';
import type { Finish } from '../output/output.ts';
import { resourceCommand } from '../resource-command.ts';

type Notification = Schemas['Notification'];

export const notificationsCommand = (finish: Finish): Command =>
  resourceCommand<Notification, Schemas['NotificationSettings'], Schemas['NotificationChange']>(
    {
      name: 'notifications',
      description: 'rules that decide who is notified of what',
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'condition', of: one => one.condition },
        { name: 'about', of: one => one.conf.name },
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
