import { resolve } from 'node:path';
import { Command } from 'commander';
import { configOption, dataOption } from '../options.ts';
import { reportFailure } from '../output/explain.ts';
import { EXIT, type Finish, print } from '../output/output.ts';
import type { Folders } from '../store.ts';
import { contents } from './backup.ts';

interface RestoreFlags extends Folders {
  readonly json?: boolean;
}

const AFTER = `
Restores into an empty store only, all of it or nothing. headgate.yml says which store that is: a backup
of SQLite can be restored into PostgreSQL and the other way round.
`;

export const restoreCommand = (finish: Finish): Command =>
  new Command('restore')
    .description('put a backup into an empty store, with its key ring')
    .argument('<file>', 'what headgate backup wrote')
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'answer as JSON')
    .addHelpText('after', AFTER)
    .action(async (file: string, flags: RestoreFlags) => {
      try {
        const { storePathsOf } = await import('../store.ts');
        const { restoreBackup } = await import('../../storage/backup/restore.ts');
        const { storage, keyRing } = storePathsOf(flags);
        const facts = await restoreBackup({ ...storage, keyRing, from: resolve(file) });
        const createdAt = new Date(facts.createdAt).toISOString();
        print(
          flags.json
            ? JSON.stringify({ ...facts, createdAt }, null, 2)
            : `restored what headgate ${facts.version} backed up at ${createdAt}: ${contents(facts)}`,
        );
        if (!flags.json) for (const name of facts.migrated) print(`migrated ${name}`);
        finish(EXIT.ok);
      } catch (error) {
        finish(reportFailure(error));
      }
    });
