import { systemClock } from '../../src/lib/clock.ts';
import { reasonOf } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openStorage } from '../../src/storage/open.ts';
import { commitUntilRefused } from './fill.ts';

/** A second process: `hold` opens the folder, writes one row and stays; `fill` writes until the disk refuses. */
const [, , task, dataFolder = ''] = process.argv;

try {
  const storage = await openStorage({
    url: 'sqlite:headgate.db',
    dataFolder,
    logger: silentLogger,
    clock: systemClock,
  });
  if (task === 'hold') {
    await storage.transaction(tx => tx.setInstanceValue('written-by', 'child'));
    process.send?.({ held: true });
  } else {
    process.send?.(await commitUntilRefused(storage));
    await storage.close();
  }
} catch (error) {
  process.send?.({ message: reasonOf(error) });
}
