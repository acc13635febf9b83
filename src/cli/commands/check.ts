import { Command } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { configOption } from '../options.ts';
import { EXIT, type Finish, print, printError } from '../output/output.ts';

interface CheckFlags {
  readonly config: string;
  readonly json?: boolean;
  readonly effective?: boolean;
}

export const checkCommand = (finish: Finish): Command =>
  new Command('check')
    .description('validate the configuration files and name every error; exit code 3 when there is one')
    .addOption(configOption())
    .option('--json', 'answer as JSON')
    .option('--effective', 'print the configuration with every default, secrets masked')
    .action(async (flags: CheckFlags) => {
      const { checkConfiguration, checkJson, checkLines, effectiveText } = await import(
        '../../config/check-files.ts'
      );
      const sources = { folder: flags.config, environment: process.env, flags: {} };
      const check = checkConfiguration(sources, systemClock);
      if (flags.effective && check.configuration !== undefined) {
        for (const line of checkLines(check)) printError(line);
        print(effectiveText(check.configuration, flags.json ? 'json' : 'yaml'));
      } else if (flags.json) print(checkJson(check));
      else for (const line of checkLines(check)) print(line);
      finish(check.ok ? EXIT.ok : EXIT.invalidConfiguration);
    });
