import { Command, CommanderError } from 'commander';
import { VERSION } from '../lib/version.ts';
import { EXIT, type ExitCode, type Finish } from './output/output.ts';

type MakeCommand = (finish: Finish) => Command;
type LoadCommand = () => Promise<MakeCommand>;

/** Grouped as in the help. A command's file, and the libraries it needs, are loaded when the command is asked for. */
const COMMANDS: Readonly<Record<string, Readonly<Record<string, LoadCommand>>>> = {
  'On this machine:': {
    serve: async () => (await import('./commands/serve.ts')).serveCommand,
    'serve-login': async () => (await import('./commands/serve-login.ts')).serveLoginCommand,
    demo: async () => (await import('./commands/demo.ts')).demoCommand,
    check: async () => (await import('./commands/check.ts')).checkCommand,
    backup: async () => (await import('./commands/backup.ts')).backupCommand,
    restore: async () => (await import('./commands/restore.ts')).restoreCommand,
    migrate: async () => (await import('./commands/migrate.ts')).migrateCommand,
  },
  'Asking a server:': {
    login: async () => (await import('./commands/login.ts')).loginCommand,
    logout: async () => (await import('./commands/logout.ts')).logoutCommand,
    whoami: async () => (await import('./commands/whoami.ts')).whoamiCommand,
    inputs: async () => (await import('./commands/components.ts')).inputsCommand,
    outputs: async () => (await import('./commands/components.ts')).outputsCommand,
    notifications: async () => (await import('./commands/notifications.ts')).notificationsCommand,
    backtest: async () => (await import('./commands/notifications.ts')).backtestCommand,
    explain: async () => (await import('./commands/explain.ts')).explainCommand,
    targets: async () => (await import('./commands/targets.ts')).targetsCommand,
    'kept-settings': async () => (await import('./commands/targets.ts')).keptSettingsCommand,
    'test-send': async () => (await import('./commands/test-send.ts')).testSendCommand,
    incidents: async () => (await import('./commands/incidents.ts')).incidentsCommand,
    deliveries: async () => (await import('./commands/deliveries.ts')).deliveriesCommand,
    report: async () => (await import('./commands/incidents.ts')).reportCommand,
    suggest: async () => (await import('./commands/components.ts')).suggestCommand,
    messages: async () => (await import('./commands/messages.ts')).messagesCommand,
    secrets: async () => (await import('./commands/secrets.ts')).secretsCommand,
    inhibitions: async () => (await import('./commands/silences.ts')).inhibitionsCommand,
    silences: async () => (await import('./commands/silences.ts')).silencesCommand,
    'ingest-tokens': async () => (await import('./commands/ingest-tokens.ts')).ingestTokensCommand,
    diff: async () => (await import('./commands/config.ts')).diffCommand,
    apply: async () => (await import('./commands/config.ts')).applyCommand,
    export: async () => (await import('./commands/config.ts')).exportCommand,
    import: async () => (await import('./commands/config.ts')).importCommand,
    users: async () => (await import('./commands/users.ts')).usersCommand,
    keys: async () => (await import('./commands/keys.ts')).keysCommand,
  },
  'Of a hosted deployment:': {
    org: async () => (await import('./commands/org.ts')).orgCommand,
    credentials: async () => (await import('./commands/credentials.ts')).credentialsCommand,
  },
  'About headgate:': {
    version: async () => (await import('./commands/version.ts')).versionCommand,
    completion: async () => (await import('./commands/completion.ts')).completionCommand,
  },
};

/** Asked by the completion scripts of shells, so it is not in the help. */
const COMPLETE = 'complete';
/** Flags of the program itself that need no command. */
const NEEDS_NO_COMMAND = ['-V', '--version'];

/** Parses the arguments and runs the command; answers the exit code: 0 ok, 1 failed, 2 usage, 3 configuration invalid, 4 a plan is not empty. */
export async function runCli(argv: readonly string[]): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  const finish = (result: ExitCode): void => {
    code = result;
  };
  const program = await programFor(argv, finish);
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  return code;
}

/** Has the one command that the arguments begin with, or all of them for the help and for what is none of them. */
async function programFor(argv: readonly string[], finish: Finish): Promise<Command> {
  const program = emptyProgram();
  const [first = ''] = argv;
  if (first === COMPLETE) {
    const { completeCommand } = await import('./commands/completion.ts');
    const words = argv.slice(argv.indexOf('--', 1) + 1);
    await attachCommands(program, finish, words.length > 1 ? words[0] : undefined);
    program.addCommand(
      completeCommand(finish, () => program),
      { hidden: true },
    );
  } else if (!NEEDS_NO_COMMAND.includes(first)) await attachCommands(program, finish, first);
  return program;
}

const emptyProgram = (): Command =>
  new Command('headgate')
    .description('An open control plane for data pipelines.')
    .version(VERSION, '-V, --version')
    .showHelpAfterError('(headgate --help lists the commands)')
    .exitOverride();

async function attachCommands(program: Command, finish: Finish, name: string | undefined): Promise<void> {
  const isKnown = Object.values(COMMANDS).some(
    commands => name !== undefined && Object.hasOwn(commands, name),
  );
  for (const [heading, commands] of Object.entries(COMMANDS))
    for (const [own, load] of Object.entries(commands))
      if (!isKnown || own === name) attach((await load())(finish).helpGroup(heading), program);
}

function attach(command: Command, parent: Command): void {
  parent.addCommand(command.copyInheritedSettings(parent));
  inherit(command);
}

function inherit(command: Command): void {
  for (const own of command.commands) inherit(own.copyInheritedSettings(command));
}
