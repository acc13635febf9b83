import { Command, InvalidArgumentError } from 'commander';
import type { LoginAppOptions } from '../../app/deployments/login-service.ts';
import { systemClock } from '../../lib/clock.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { configOption, dataOption } from '../options.ts';
import { type ExitCode, type Finish, print } from '../output/output.ts';

/** Runs the login service until a signal stops it. */
async function runLogin(
  options: Pick<LoginAppOptions, 'configFolder' | 'dataFolder' | 'host' | 'port'>,
): Promise<ExitCode> {
  const { startLoginApp } = await import('../../app/deployments/login-service.ts');
  const { runProcess } = await import('../run-process.ts');
  return runProcess(process.env, async logger => {
    const service = await startLoginApp({
      ...options,
      environment: process.env,
      clock: systemClock,
      ids: monotonicIds(systemClock),
      logger,
    });
    return {
      stop: service.stop,
      // Its settings count from the start.
      reload: async () => {},
      async ready() {
        print(`headgate ready on ${service.url}`);
      },
    };
  });
}

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
      finish(await runLogin({ configFolder: config, dataFolder: data, host, port }));
    });

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('It must be a port from 0 to 65535.');
}
