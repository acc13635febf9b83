import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { refuse, wholeNumber } from './delivery/arguments.ts';
import { headgate } from './delivery/headgate.ts';
import { endWithin } from './delivery/temporary.ts';
import { ingest } from './pipelines/ingest.ts';
import type { Bench } from './pipelines/part.ts';
import { readers } from './pipelines/readers.ts';
import { silence } from './pipelines/silence.ts';
import { openWorld } from './pipelines/world.ts';

const MOST_MINUTES = 30;
/** Components of one page. */
const PER_PAGE = 1000;

const PARTS: ReadonlyMap<string, { readonly title: string; readonly run: (bench: Bench) => Promise<void> }> =
  new Map([
    [
      'ingest',
      { title: 'pages of metrics are read, and each component is watched for silence', run: ingest },
    ],
    ['silence', { title: 'components stop: how long after their window the alert comes', run: silence }],
    ['readers', { title: 'processor time to take samples in, by format', run: readers }],
  ]);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '1' },
    components: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '60' },
  },
});
const unknown = positionals.filter(id => !PARTS.has(id));
if (unknown.length > 0) refuse(`no part ${unknown.join(', ')}; there are ${[...PARTS.keys()].join(', ')}`);

endWithin(MOST_MINUTES);
const components = wholeNumber('components', values.components, [1000, 200_000]);
const world = await openWorld({ pages: Math.ceil(components / PER_PAGE), perPage: PER_PAGE });
const bench: Bench = {
  world,
  runs: wholeNumber('runs', values.runs, [1, 100]),
  seconds: wholeNumber('seconds', values.seconds, [10, 600]),
};
const { pages, perPage } = world.size;
console.log(
  `node ${process.version}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}; Headgate ${headgate.version}; ${pages} pages of ${perPage} components with 10 series each, read every 10 s, a window of 60 s`,
);
for (const [id, { title, run }] of PARTS) {
  if (positionals.length > 0 && !positionals.includes(id)) continue;
  console.log(`\n${id}: ${title} (load ${loadavg()[0]?.toFixed(1)})`);
  await run(bench);
}
world.end();
process.exit(0);
