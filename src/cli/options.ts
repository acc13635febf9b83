import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../lib/duration.ts';

/** Where the configuration lies: flag, HEADGATE_CONFIG, ./config. */
export const configOption = (): Option =>
  new Option('--config <dir>', 'folder of headgate.yml and notifications.yml')
    .env('HEADGATE_CONFIG')
    .default('./config');

/** Where the product keeps what it must not lose: flag, HEADGATE_DATA, ./data. */
export const dataOption = (): Option =>
  new Option('--data <dir>', 'folder of the store, the keys and the logs')
    .env('HEADGATE_DATA')
    .default('./data');

export const orgOption = (): Option =>
  new Option('--org <id>', 'the organization, for commands that manage one').env('HEADGATE_ORG');

/**
 * Whether a command that can ask a server as well is to act on the store: a folder that a flag names is meant, one that
 * only the environment or a default names is a server's. A command that names both is wrong usage.
 */
export function actsOnStore(command: Command): boolean {
  const isNamed = (flag: string): boolean => command.getOptionValueSource(flag) === 'cli';
  const isStore = isNamed('config') || isNamed('data');
  if (isStore && isNamed('profile'))
    command.error(
      'error: --profile asks a server, --config and --data act on the store: name one of the two',
    );
  return isStore;
}

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** A time as the API takes it, from how long ago it was, or from itself. `now` is in epoch ms. */
export const timeAgo = (text: string, now: number): string =>
  timeFrom(text, ago => now - ago, 'how long ago, such as 2h');

/** The same of a time to come, from how far away it is, or from itself. */
export const timeAhead = (text: string, now: number): string =>
  timeFrom(text, away => now + away, 'in how long, such as 90d');

function timeFrom(text: string, at: (ms: number) => number, words: string): string {
  const ms = parseDuration(text);
  const time = ms === undefined ? (TIME.test(text) ? Date.parse(text) : Number.NaN) : at(ms);
  if (Number.isNaN(time))
    throw new InvalidArgumentError(`It must be ${words}, or a time such as 2026-01-31T08:00:00Z.`);
  return new Date(time).toISOString();
}
