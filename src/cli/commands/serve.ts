import { Command } from 'commander';
import { configOption, dataOption } from '../options.ts';
import { type Finish, print } from '../output/output.ts';

interface ServeFlags {
  readonly config: string;
  readonly data: string;
  readonly host?: string;
  readonly port?: string;
}

export const serveCommand = (finish: Finish): Command =>
  new Command('serve')
    .description('run the management API, the engine and the page')
    .addOption(configOption())
    .addOption(dataOption())
    .option('--host <host>', 'address to listen on (api.host)')
    .option('--port <port>', 'port to listen on, 0 for any free one (api.port)')
    .action(async (flags: ServeFlags) => {
      const { runApp } = await import('../run-app.ts');
      finish(
        await runApp({
          configFolder: flags.config,
          dataFolder: flags.data,
          flags: {
            ...(flags.host !== undefined && { 'api.host': flags.host }),
            ...(flags.port !== undefined && { 'api.port': flags.port }),
          },
          ready: async ({ url }) => print(`headgate ready on ${url}`),
        }),
      );
    });
