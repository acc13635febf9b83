import { Command } from 'commander';
import { outstandingMigrations, runMigrations } from '../storage/outstanding.ts';
import { EXIT, type Finish } from './exit.ts';
import { explain } from './explain.ts';
import { configOption, dataOption } from './folders.ts';
import { keptBy } from './kept.ts';
import type { Folders } from './offline.ts';
import { print } from './output.ts';

interface MigrateFlags extends Folders {
  readonly check?: boolean;
  readonly json?: boolean;
}

export const migrateCommand = (finish: Finish): Command =>
  new Command('migrate')
    .description('bring the tables of the store to this version, as a start of the server does too')
    .option('--check', 'only tell what is outstanding; exit code 1 when something is')
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'answer as JSON')
    .action(async (flags: MigrateFlags) => {
      try {
        const { storage } = keptBy(flags);
        const names = await (flags.check ? outstandingMigrations(storage) : runMigrations(storage));
        const word = flags.check ? 'outstanding' : 'migrated';
        if (flags.json) print(JSON.stringify({ [word]: names }, null, 2));
        else if (names.length === 0) print('the store is up to date');
        else for (const name of names) print(`${word} ${name}`);
        finish(flags.check && names.length > 0 ? EXIT.failed : EXIT.ok);
      } catch (error) {
        finish(explain(error));
      }
    });
