import { Option } from 'commander';

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
