import type { Client, Paged } from '@headgate/client';
import { Argument, Command, InvalidArgumentError, type Option } from 'commander';
import { fileOption, readBody } from './input.ts';
import type { Finish } from './output/output.ts';
import { type Column, printItem, printList } from './output/table.ts';
import { runOnServer, type ServerFlags, withServerOptions } from './session.ts';

/** Values of a list's filter options, by name. */
type Filters = Readonly<Record<string, string>>;

/** Operations on a kind of object; each given one becomes a command. */
export interface ResourceCommandOptions<Row extends object, Whole extends object, Part extends object> {
  readonly name: string;
  readonly description: string;
  readonly columns: readonly Column<Row>[];
  readonly filters?: readonly Option[];
  list(client: Client, filters: Filters): Paged<Row>;
  readonly get?: (client: Client, id: string) => Promise<object>;
  readonly create?: (client: Client, body: Whole) => Promise<object>;
  readonly update?: (client: Client, id: string, body: Part) => Promise<object>;
  readonly remove?: (client: Client, id: string) => Promise<object | undefined>;
}

interface ListFlags extends ServerFlags {
  readonly limit?: number;
}

/** `headgate <resource> list|get|create|update|remove` */
export function resourceCommand<
  Row extends object,
  Whole extends object = object,
  Part extends object = object,
>(options: ResourceCommandOptions<Row, Whole, Part>, finish: Finish): Command {
  const command = new Command(options.name).description(options.description);
  command.addCommand(listCommand(options, finish));
  for (const part of [getCommand, createCommand, updateCommand, removeCommand]) {
    const made = part(options, finish);
    if (made !== undefined) command.addCommand(made);
  }
  return command;
}

function listCommand<Row extends object, Whole extends object, Part extends object>(
  options: ResourceCommandOptions<Row, Whole, Part>,
  finish: Finish,
): Command {
  const command = withServerOptions(new Command('list').description('list them'));
  for (const filter of options.filters ?? []) command.addOption(filter);
  return command
    .option('--limit <count>', 'no more than so many', parseCount)
    .action(({ json, profile, limit, ...filters }: ListFlags & Filters) => {
      const flags = { ...(json !== undefined && { json }), ...(profile !== undefined && { profile }) };
      return runOnServer(finish, flags, async ({ client }) => {
        const rows: Row[] = [];
        for await (const row of options.list(client, filters)) {
          if (rows.length === limit) break;
          rows.push(row);
        }
        printList(rows, options.columns, flags, `no ${options.name}`);
      });
    });
}

function getCommand<Row extends object, Whole extends object, Part extends object>(
  { get }: ResourceCommandOptions<Row, Whole, Part>,
  finish: Finish,
): Command | undefined {
  if (get === undefined) return undefined;
  return withServerOptions(new Command('get').alias('show').description('show one'))
    .addArgument(idArgument())
    .action((id: string, flags: ServerFlags) =>
      runOnServer(finish, flags, async ({ client }) => printItem(await get(client, id), flags)),
    );
}

interface FileFlags extends ServerFlags {
  readonly file: string;
}

function createCommand<Row extends object, Whole extends object, Part extends object>(
  { create }: ResourceCommandOptions<Row, Whole, Part>,
  finish: Finish,
): Command | undefined {
  if (create === undefined) return undefined;
  return withServerOptions(new Command('create').description('add one'))
    .addOption(fileOption())
    .action((flags: FileFlags) =>
      runOnServer(finish, flags, async ({ client }) =>
        printItem(await create(client, await readBody(flags.file)), flags),
      ),
    );
}

function updateCommand<Row extends object, Whole extends object, Part extends object>(
  { update }: ResourceCommandOptions<Row, Whole, Part>,
  finish: Finish,
): Command | undefined {
  if (update === undefined) return undefined;
  return withServerOptions(
    new Command('update').description('change one: what the file leaves out stays, null removes'),
  )
    .addArgument(idArgument())
    .addOption(fileOption())
    .action((id: string, flags: FileFlags) =>
      runOnServer(finish, flags, async ({ client }) =>
        printItem(await update(client, id, await readBody(flags.file)), flags),
      ),
    );
}

function removeCommand<Row extends object, Whole extends object, Part extends object>(
  { remove }: ResourceCommandOptions<Row, Whole, Part>,
  finish: Finish,
): Command | undefined {
  if (remove === undefined) return undefined;
  return withServerOptions(new Command('remove').description('take one away, and show what it was'))
    .addArgument(idArgument())
    .action((id: string, flags: ServerFlags) =>
      runOnServer(finish, flags, async ({ client }) => printItem((await remove(client, id)) ?? {}, flags)),
    );
}

const idArgument = (): Argument => new Argument('<id>', 'its id, as `list` shows it');

function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 on.');
}
