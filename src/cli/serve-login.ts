import { Command, InvalidArgumentError } from 'commander';
import type { Finish } from './exit.ts';
import { configOption, dataOption } from './folders.ts';

const DEFAULT_PORT = 9001;

interface LoginFlags {
  readonly config: string;
  readonly data: string;
  readonly host?: string;
  readonly port: number;
}

export const serveLoginCommand = (finish: Finish): Command =>
  new Command('serve-login')
    .description('run the login service of a hosted installation')
    .addOption(configOption())
    .addOption(dataOption())
    .option('--host <host>', 'address to listen on, in place of api.host')
    .option('--port <port>', 'port to listen on, 0 for any free one', portOf, DEFAULT_PORT)
    .action(async ({ config, data, host, port }: LoginFlags) => {
      const { runLogin } = await import('./run-login.ts');
      finish(await runLogin({ configFolder: config, dataFolder: data, host, port }));
    });

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('It must be a port from 0 to 65535.');
}
