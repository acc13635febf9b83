import type { Schemas } from '@headgate/client';
import { type Command, Option } from 'commander';
import type { Finish } from '../output/output.ts';
import { resourceCommand } from '../resource-command.ts';

/** Inputs and outputs have the same fields. */
type Component = Schemas['Input'] | Schemas['Output'];

const componentsCommand = (name: 'inputs' | 'outputs', finish: Finish): Command =>
  resourceCommand<Component>(
    {
      name,
      description: `${name} of pipelines and how they are`,
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'type', of: one => one.type },
        { name: 'health', of: one => one.status.health },
        { name: 'presence', of: one => one.status.presence },
        { name: 'pipeline', of: one => one.headgate.pipeline },
        { name: 'group', of: one => one.group },
        { name: 'last data', of: one => one.headgate.lastDataAt },
        { name: 'error', of: one => one.status.error?.message },
      ],
      filters: [
        new Option('--type <type>', 'only of that type'),
        new Option('--group <group>', 'only of that group'),
      ],
      list: ({ [name]: components }, { group, ...filters }) =>
        group === undefined ? components.list(filters) : components.listInGroup({ group, ...filters }),
      get: ({ [name]: components }, id) => components.get({ id }),
      remove: ({ [name]: components }, id) => components.remove({ id }),
    },
    finish,
  );

export const inputsCommand = (finish: Finish): Command => componentsCommand('inputs', finish);
export const outputsCommand = (finish: Finish): Command => componentsCommand('outputs', finish);
