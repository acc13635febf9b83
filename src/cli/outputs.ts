import type { Schemas } from '@headgate/client';
import { type Command, Option } from 'commander';
import type { Finish } from './exit.ts';
import { nounCommand } from './noun.ts';

type Output = Schemas['Output'];

export const outputsCommand = (finish: Finish): Command =>
  nounCommand<Output>(
    {
      name: 'outputs',
      description: 'outputs of pipelines and how they are',
      columns: [
        { name: 'id', of: one => one.id },
        { name: 'type', of: one => one.type },
        { name: 'health', of: one => one.status.health },
        { name: 'pipeline', of: one => one.headgate.pipeline },
        { name: 'group', of: one => one.group },
        { name: 'last data', of: one => one.headgate.lastDataAt },
        { name: 'error', of: one => one.status.error?.message },
      ],
      filters: [
        new Option('--type <type>', 'only of that type'),
        new Option('--group <group>', 'only of that group'),
      ],
      list: ({ outputs }, { group, ...filters }) =>
        group === undefined ? outputs.list(filters) : outputs.listInGroup({ group, ...filters }),
      get: ({ outputs }, id) => outputs.get({ id }),
    },
    finish,
  );
