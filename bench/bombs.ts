import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ingestOperations } from '../src/api/ingest/ingest.ts';
import { startServer } from '../test/acceptance/bin.ts';
import { BOMB_ENVIRONMENT, BOMB_FILES, bombarded } from '../test/acceptance/bombarded.ts';
import { writeConfiguration } from '../test/acceptance/files.ts';
import { PUSH_BOMBS } from '../test/helpers/bombs/pushes.ts';
import { TEXT_BOMBS } from '../test/helpers/bombs/texts.ts';
import { printTable } from './delivery/table.ts';

const root = mkdtempSync(join(tmpdir(), 'headgate-bombs-'));
const config = join(root, 'config');
writeConfiguration(config, BOMB_FILES);
const server = await startServer({ config, data: join(root, 'data'), environment: BOMB_ENVIRONMENT });
try {
  const send = await bombarded(
    server,
    operation => ingestOperations.find(({ id }) => id === operation)?.path ?? '',
  );
  const rows: string[][] = [];
  for (const bomb of [...PUSH_BOMBS, ...TEXT_BOMBS]) {
    const { status, stallMs, growthMb, peakMb } = await send(bomb);
    const kind = 'operation' in bomb ? `${bomb.operation} ${bomb.type}` : bomb.file;
    rows.push([kind, bomb.what, String(status), stallMs.toFixed(0), growthMb.toFixed(0), peakMb.toFixed(0)]);
  }
  console.log(`Bombs, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}, heap 512 MB`);
  printTable(
    ['to', 'bomb', 'status', 'stall, ms of CPU (goal 200)', 'growth, MB (goal 100)', 'peak, MB'],
    rows,
  );
} finally {
  await server.kill();
  rmSync(root, { recursive: true, force: true });
}
