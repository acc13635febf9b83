import type { Schemas } from '@headgate/client';
import type { Command } from 'commander';
import type { Finish } from '../output/output.ts';
import { resourceCommand } from '../resource-command.ts';

type Target = Schemas['Target'];

export const targetsCommand = (finish: Finish): Command =>
  resourceCommand<Target, Schemas['TargetSettings'], Schemas['TargetChange']>(
    {
      name: 'targets',
      description: 'where messages go',
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'type', of: one => one.type },
        { name: 'health', of: one => one.status?.health },
        { name: 'since', of: one => one.status?.since },
        { name: 'reason', of: one => one.status?.error ?? one.status?.heldBecause },
        { name: 'description', of: one => one.description },
      ],
      list: ({ targets }) => targets.list(),
      get: ({ targets }, id) => targets.get({ id }),
      create: ({ targets }, body) => targets.create({ body }),
      update: ({ targets }, id, body) => targets.update({ id, body }),
      remove: ({ targets }, id) => targets.remove({ id }),
    },
    finish,
  );

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
