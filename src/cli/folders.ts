import { type Command, Option } from 'commander';

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
