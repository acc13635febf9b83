import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../lib/duration.ts';

/** Folder of the configuration: flag, HEADGATE_CONFIG, ./config. */
export const configOption = (): Option =>
  new Option('--config <dir>', 'folder of headgate.yml and notifications.yml')
    .env('HEADGATE_CONFIG')
    .default('./config');

/** Folder of durable data: flag, HEADGATE_DATA, ./data. */
export const dataOption = (): Option =>
  new Option('--data <dir>', 'folder of the store, the keys and the logs')
    .env('HEADGATE_DATA')
    .default('./data');

export const orgOption = (): Option =>
  new Option('--org <id>', 'the organization, for commands that manage one').env('HEADGATE_ORG');

/**
 * A command that can also call a server acts on the store when a flag names a folder; a folder from the environment or a
 * default does not count. Naming both a folder and a profile is a usage error.
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

/** Converts a duration before `now` (epoch ms), or a time, into a time as the API takes it. */
export const timeAgo = (text: string, now: number): string =>
  timeFrom(text, ago => now - ago, 'how long ago, such as 2h');

/** Converts a duration after `now` (epoch ms), or a time, likewise. */
export const timeAhead = (text: string, now: number): string =>
  timeFrom(text, away => now + away, 'in how long, such as 90d');

function timeFrom(text: string, at: (ms: number) => number, words: string): string {
  const ms = parseDuration(text);
  const time = ms === undefined ? (TIME.test(text) ? Date.parse(text) : Number.NaN) : at(ms);
  if (Number.isNaN(time))
    throw new InvalidArgumentError(`It must be ${words}, or a time such as 2026-01-31T08:00:00Z.`);
  return new Date(time).toISOString();
}
