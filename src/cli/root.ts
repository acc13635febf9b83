import { Command, CommanderError } from 'commander';
import { VERSION } from '../lib/version.ts';
import { backupCommand } from './backup.ts';
import { checkCommand } from './check.ts';
import { completeCommand, completionCommand } from './completion.ts';
import { inputsCommand, outputsCommand } from './components.ts';
import { configCommand } from './config.ts';
import { credentialsCommand } from './credentials.ts';
import { deliveriesCommand } from './deliveries.ts';
import { demoCommand } from './demo.ts';
import { EXIT, type ExitCode, type Finish } from './exit.ts';
import { incidentsCommand } from './incidents.ts';
import { ingestTokensCommand } from './ingest-tokens.ts';
import { keysCommand } from './keys.ts';
import { loginCommand } from './login.ts';
import { logoutCommand } from './logout.ts';
import { messagesCommand } from './messages.ts';
import { migrateCommand } from './migrate.ts';
import { notificationsCommand } from './notifications.ts';
import { orgCommand } from './org.ts';
import { restoreCommand } from './restore.ts';
import { secretsCommand } from './secrets.ts';
import { serveCommand } from './serve.ts';
import { serveLoginCommand } from './serve-login.ts';
import { targetsCommand } from './targets.ts';
import { testSendCommand } from './test-send.ts';
import { usersCommand } from './users.ts';
import { versionCommand } from './version.ts';
import { whoamiCommand } from './whoami.ts';

/** As the help groups them. */
const COMMANDS: Readonly<Record<string, readonly ((finish: Finish) => Command)[]>> = {
  'On this machine:': [
    serveCommand,
    serveLoginCommand,
    demoCommand,
    checkCommand,
    backupCommand,
    restoreCommand,
    migrateCommand,
  ],
  'Asking a server:': [
    loginCommand,
    logoutCommand,
    whoamiCommand,
    inputsCommand,
    outputsCommand,
    notificationsCommand,
    targetsCommand,
    testSendCommand,
    incidentsCommand,
    deliveriesCommand,
    messagesCommand,
    secretsCommand,
    ingestTokensCommand,
    configCommand,
    usersCommand,
    keysCommand,
  ],
  'Of a hosted deployment:': [orgCommand, credentialsCommand],
  'About headgate:': [versionCommand, completionCommand],
};

/** Parses the arguments and runs the command; answers the exit code: 0 ok, 1 failed, 2 usage, 3 configuration invalid. */
export async function runCli(argv: readonly string[]): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  const finish = (result: ExitCode): void => {
    code = result;
  };
  const program = programOf(finish);
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  return code;
}

function programOf(finish: Finish): Command {
  const program = new Command('headgate')
    .description('An open control plane for data pipelines.')
    .version(VERSION, '-V, --version')
    .showHelpAfterError('(headgate --help lists the commands)')
    .exitOverride();
  for (const [heading, commands] of Object.entries(COMMANDS))
    for (const command of commands) attach(command(finish).helpGroup(heading), program);
  program.addCommand(
    completeCommand(finish, () => program),
    { hidden: true },
  );
  return program;
}

function attach(command: Command, parent: Command): void {
  parent.addCommand(command.copyInheritedSettings(parent));
  inherit(command);
}

function inherit(command: Command): void {
  for (const own of command.commands) inherit(own.copyInheritedSettings(command));
}
