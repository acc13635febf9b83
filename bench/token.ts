import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { refuse, wholeNumber } from './delivery/arguments.ts';
import { headgate } from './delivery/headgate.ts';
import { endWithin, removeTemporaryFolders } from './delivery/temporary.ts';
import { STORES } from './token/headgate.ts';
import { measureIssuing } from './token/issuing.ts';
import { ALGORITHMS } from './token/login-service.ts';

const MOST_MINUTES = 15;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: 'string', default: 'sqlite' },
    rounds: { type: 'string', default: '11' },
    tokens: { type: 'string', default: '3000' },
  },
});
const unknown = positionals.filter(name => !ALGORITHMS.some(one => one === name));
if (unknown.length > 0) refuse(`no algorithm ${unknown.join(', ')}; there are ${ALGORITHMS.join(', ')}`);
const store =
  STORES.find(one => one === values.store) ??
  refuse(`--store must be one of ${STORES.join(', ')}, not '${values.store}'`);
const rounds = wholeNumber('rounds', values.rounds, [1, 100]);
const tokens = wholeNumber('tokens', values.tokens, [16, 100_000]);

const load = (): string => `load ${loadavg()[0]?.toFixed(1)}`;
endWithin(MOST_MINUTES);
console.log(
  `node ${process.version}, ${availableParallelism()} cores, ${load()}; Headgate ${headgate.version}, store ${store}; ${rounds} rounds of ${tokens} tokens`,
);
for (const algorithm of ALGORITHMS) {
  if (positionals.length > 0 && !positionals.includes(algorithm)) continue;
  console.log(`\n${algorithm}: POST /oauth/token (${load()})`);
  await measureIssuing(algorithm, store, { rounds, tokens });
  removeTemporaryFolders();
}
