import type { Schemas } from '@headgate/client';
import type { Command } from 'commander';
import type { Finish } from '../output/output.ts';
import { resourceCommand } from '../resource-command.ts';

export const keptSettingsCommand = (finish: Finish): Command =>
  resourceCommand<Schemas['KeptSettings']>(
    {
      name: 'kept-settings',
      description: 'settings of targets of before, by which alarms are open',
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'target', of: one => one.target },
        { name: 'type', of: one => one.type },
        { name: 'reason', of: one => one.reason },
        { name: 'replaced', of: one => one.replacedAt },
        { name: 'expires', of: one => one.expiresAt },
        { name: 'incidents', of: one => one.incidents },
      ],
      list: ({ keptSettings }) => keptSettings.list(),
      remove: ({ keptSettings }, id) => keptSettings.remove({ id }),
    },
    finish,
  );
