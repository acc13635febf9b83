import { Command, CommanderError } from 'commander';
import { VERSION } from '../lib/version.ts';
import { backupCommand } from './commands/backup.ts';
import { checkCommand } from './commands/check.ts';
import { completeCommand, completionCommand } from './commands/completion.ts';
import { inputsCommand, outputsCommand } from './commands/components.ts';
import { configCommand } from './commands/config.ts';
import { credentialsCommand } from './commands/credentials.ts';
import { deliveriesCommand } from './commands/deliveries.ts';
import { demoCommand } from './commands/demo.ts';
import { incidentsCommand } from './commands/incidents.ts';
import { ingestTokensCommand } from './commands/ingest-tokens.ts';
import { keysCommand } from './commands/keys.ts';
import { loginCommand } from './commands/login.ts';
import { logoutCommand } from './commands/logout.ts';
import { messagesCommand } from './commands/messages.ts';
import { migrateCommand } from './commands/migrate.ts';
import { notificationsCommand } from './commands/notifications.ts';
import { orgCommand } from './commands/org.ts';
import { restoreCommand } from './commands/restore.ts';
import { secretsCommand } from './commands/secrets.ts';
import { serveCommand } from './commands/serve.ts';
import { serveLoginCommand } from './commands/serve-login.ts';
import { targetsCommand } from './commands/targets.ts';
import { testSendCommand } from './commands/test-send.ts';
import { usersCommand } from './commands/users.ts';
import { versionCommand } from './commands/version.ts';
import { whoamiCommand } from './commands/whoami.ts';
import { EXIT, type ExitCode, type Finish } from './output/output.ts';

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
