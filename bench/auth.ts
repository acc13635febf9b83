import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { measureDisable } from './auth/disable.ts';
import { measureFlood } from './auth/flood.ts';
import { measureLogins } from './auth/logins.ts';
import { measureReading } from './auth/reading.ts';
import { measureRefusals } from './auth/refusals.ts';
import { refuse } from './delivery/arguments.ts';
import { headgate } from './delivery/headgate.ts';
import { endWithin, removeTemporaryFolders } from './delivery/temporary.ts';

const MOST_MINUTES = 10;

const PARTS: Readonly<Record<string, { readonly title: string; run(): Promise<void> }>> = {
  reading: { title: 'GET /system/inputs with a token, 20 inputs', run: measureReading },
  logins: { title: 'logins beside their hash', run: measureLogins },
  refusals: { title: 'time of refused logins', run: measureRefusals },
  flood: { title: 'others during 1,000 wrong passwords', run: measureFlood },
  disable: { title: 'from disabled to refused', run: measureDisable },
};

const { positionals } = parseArgs({ allowPositionals: true });
const unknown = positionals.filter(name => !Object.hasOwn(PARTS, name));
if (unknown.length > 0) refuse(`no part ${unknown.join(', ')}; there are ${Object.keys(PARTS).join(', ')}`);

const load = (): string => `load ${loadavg()[0]?.toFixed(1)}`;
endWithin(MOST_MINUTES);
console.log(
  `node ${process.version}, ${availableParallelism()} cores, ${load()}; Headgate ${headgate.version}`,
);
for (const [name, { title, run }] of Object.entries(PARTS)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  console.log(`\n${name}: ${title} (${load()})`);
  await run();
  removeTemporaryFolders();
}
