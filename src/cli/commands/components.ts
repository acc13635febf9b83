import type { Schemas } from '@headgate/client';
import { Argument, Command, Option } from 'commander';
import type { Finish } from '../output/output.ts';
import { printList } from '../output/table.ts';
import { resourceCommand } from '../resource-command.ts';
import { runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

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

type Suggested = Schemas['Suggestions'];

interface Row {
  readonly component: string;
  readonly condition: string;
  readonly conf: string;
  readonly fired: number | undefined;
  readonly reason: string;
}

export const suggestCommand = (finish: Finish): Command =>
  withServerOptions(
    new Command('suggest').description(
      'suggest thresholds from what inputs and outputs did, with how often each would have alerted',
    ),
  )
    .addArgument(new Argument('[component]', '`type:id`, an id, or a pattern with `*`; left out, all'))
    .action((component: string | undefined, flags: ServerFlags) =>
      runOnServer(finish, flags, async ({ client }) => {
        const found: Suggested[] = [];
        for await (const one of client.suggest.list({
          limit: 20,
          ...(component !== undefined && { component }),
        }))
          found.push(one);
        if (flags.json === true) printList(found, [], flags, '');
        else printList(found.flatMap(rowsOf), COLUMNS, flags, 'no inputs and outputs');
      }),
    );

const COLUMNS = [
  { name: 'component', of: (row: Row) => row.component },
  { name: 'condition', of: (row: Row) => row.condition },
  { name: 'conf', of: (row: Row) => row.conf },
  { name: 'would have fired', of: (row: Row) => row.fired },
  { name: 'reason', of: (row: Row) => row.reason },
];

function rowsOf({ component, suggestions, recordedMinutes }: Suggested): readonly Row[] {
  if (suggestions.length === 0)
    return [
      {
        ...{ component, condition: '-', conf: '', fired: undefined },
        reason: `${recordedMinutes} minutes are recorded; a day is needed`,
      },
    ];
  return suggestions.flatMap(({ condition, others, reason, ...suited }): Row[] => [
    { component, condition, conf: confText(suited.conf), fired: suited.fired, reason },
    ...others.map(({ conf, fired }) => ({ component, condition, conf: confText(conf), fired, reason: '' })),
  ]);
}

const confText = (conf: Suggested['suggestions'][number]['conf']): string =>
  Object.entries(conf)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
