import { Command, CommanderError } from 'commander';
import { VERSION } from '../lib/version.ts';
import { checkCommand } from './check.ts';
import { demoCommand } from './demo.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { secretsCommand } from './secrets.ts';
import { serveCommand } from './serve.ts';
import { versionCommand } from './version.ts';

/** Parses the arguments and runs the command; answers the exit code: 0 ok, 1 failed, 2 usage, 3 configuration invalid. */
export async function runCli(argv: readonly string[]): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  const finish = (result: ExitCode): void => {
    code = result;
  };
  const program = new Command('headgate')
    .description('An open control plane for data pipelines.')
    .version(VERSION, '-V, --version')
    .showHelpAfterError('(headgate --help lists the commands)')
    .exitOverride();
  for (const command of [serveCommand, demoCommand, checkCommand, secretsCommand, versionCommand])
    attach(command(finish), program);
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  return code;
}

function attach(command: Command, parent: Command): void {
  parent.addCommand(command.copyInheritedSettings(parent));
  for (const own of command.commands) own.copyInheritedSettings(command);
}
