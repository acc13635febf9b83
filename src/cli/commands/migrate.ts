import { Command } from 'commander';
import { configOption, dataOption } from '../options.ts';
import { reportFailure } from '../output/explain.ts';
import { EXIT, type Finish, print } from '../output/output.ts';
import type { Folders } from '../store.ts';

interface MigrateFlags extends Folders {
  readonly check?: boolean;
  readonly json?: boolean;
}

export const migrateCommand = (finish: Finish): Command =>
  new Command('migrate')
    .description('bring the tables of the store to this version, as a start of the server does too')
    .option('--check', 'only list outstanding migrations; exit code 1 when there are any')
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'answer as JSON')
    .action(async (flags: MigrateFlags) => {
      try {
        const { storePathsOf } = await import('../store.ts');
        const { pendingMigrations, runMigrations } = await import('../../storage/migrations/pending.ts');
        const { storage } = storePathsOf(flags);
        const names = await (flags.check ? pendingMigrations(storage) : runMigrations(storage));
        const word = flags.check ? 'outstanding' : 'migrated';
        if (flags.json) print(JSON.stringify({ [word]: names }, null, 2));
        else if (names.length === 0) print('the store is up to date');
        else for (const name of names) print(`${word} ${name}`);
        finish(flags.check && names.length > 0 ? EXIT.failed : EXIT.ok);
      } catch (error) {
        finish(reportFailure(error));
      }
    });
