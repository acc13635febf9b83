import { resolve } from 'node:path';
import { Command } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { configOption, dataOption } from '../options.ts';
import { reportFailure } from '../output/explain.ts';
import { EXIT, type Finish, print } from '../output/output.ts';
import type { Folders } from '../store.ts';

interface BackupFlags extends Folders {
  readonly to: string;
  readonly json?: boolean;
}

const AFTER = `
A server may run meanwhile. Anyone with the file can read every secret: keep it like a key.
The folder of the configuration is not in it; keep that in version control.
`;

export const backupCommand = (finish: Finish): Command =>
  new Command('backup')
    .description('write the store and the key ring to one file')
    .requiredOption('--to <file>', 'the backup; nothing may be there')
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'answer as JSON')
    .addHelpText('after', AFTER)
    .action(async (flags: BackupFlags) => {
      try {
        const { storePathsOf } = await import('../store.ts');
        const { writeBackup } = await import('../../storage/backup/write.ts');
        const { storage, keyRing } = storePathsOf(flags);
        const facts = await writeBackup({
          ...storage,
          keyRing,
          to: resolve(flags.to),
          now: systemClock.now(),
        });
        print(
          flags.json
            ? JSON.stringify(facts, null, 2)
            : `${facts.file}: ${facts.bytes} bytes, ${contents(facts)}`,
        );
        finish(EXIT.ok);
      } catch (error) {
        finish(reportFailure(error));
      }
    });

/** `3 users, 12 incidents, the key ring` */
export function contents({
  rows,
  hasKeyRing,
}: {
  readonly rows: Readonly<Record<string, number>>;
  readonly hasKeyRing: boolean;
}): string {
  const counted = Object.entries(rows).filter(([, count]) => count > 0);
  const texts = counted.map(([table, count]) => `${count} ${table.replaceAll('_', ' ')}`);
  return [...texts, hasKeyRing ? 'the key ring' : 'no key ring'].join(', ');
}
