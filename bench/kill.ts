import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Served, startServer } from '../test/acceptance/bin.ts';
import { logIn } from '../test/acceptance/client.ts';
import { writeConfiguration } from '../test/acceptance/files.ts';
import { until } from '../test/helpers/until.ts';
import { wholeNumber } from './delivery/arguments.ts';
import { pause } from './delivery/poster.ts';
import { endWithin, temporaryFolder } from './delivery/temporary.ts';
import { openLedger } from './kill/ledger.ts';
import { type Poster, startPoster } from './kill/poster.ts';

const SHORTEST_LIFE_MS = 50;
const LONGEST_LIFE_MS = 1500;
const TOKEN = 'token-of-the-source-that-is-never-heard-out';
/** How long the last life may take to send what is left. */
const DRAIN_MS = 120_000;
/** For the drain and the last look, of the minutes given. */
const RESERVED_MINUTES = 3;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
    minutes: { type: 'string', default: '45' },
  },
});

/** Numbers from 0 to 1 that follow from the seed (mulberry32). */
function randomFrom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const rounds = wholeNumber('rounds', values.rounds, [1, 100_000]);
const seed = wholeNumber('seed', values.seed, [0, 2 ** 32]);
const minutes = wholeNumber('minutes', values.minutes, [RESERVED_MINUTES + 1, 24 * 60]);
endWithin(minutes);

/** Lives and deaths, until there were enough or time is short. Answers how many. */
async function killAll(start: () => Promise<Served>, poster: Poster): Promise<number> {
  const random = randomFrom(seed);
  const end = performance.now() + (minutes - RESERVED_MINUTES) * 60_000;
  for (let round = 1; round <= rounds; round++) {
    if (performance.now() > end) return round - 1;
    const server = await start();
    poster.sendTo(server.url);
    await pause(SHORTEST_LIFE_MS + random() * (LONGEST_LIFE_MS - SHORTEST_LIFE_MS));
    await server.kill();
    poster.sendTo(undefined);
    if (round % 50 === 0)
      console.log(`${round} rounds, ${poster.accepted()} accepted, ${ledger.delivered()} delivered`);
  }
  return rounds;
}

/** One life that nobody ends: all that was not answered is posted again, and everything is sent. */
async function drain(start: () => Promise<Served>, poster: Poster): Promise<number> {
  const server = await start();
  poster.sendTo(server.url);
  await poster.finish();
  const api = await logIn(server.url);
  const waiting = () => api.total('/deliveries?state=waiting');
  const isDrained = async () => (await waiting()) === 0;
  await until(isDrained, 'an empty queue', DRAIN_MS).catch((error: unknown) => console.error(String(error)));
  const left = (await api.total('/deliveries')) - (await api.total('/deliveries?state=sent'));
  server.signal('SIGTERM');
  await server.ended;
  return left;
}

console.log(
  `node ${process.version}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}; --rounds ${rounds} --seed ${seed} --minutes ${minutes}`,
);
const ledger = await openLedger();
const root = temporaryFolder();
const folders = { config: join(root, 'config'), data: join(root, 'data') };
writeConfiguration(folders.config, {
  settings: { pipelines: [{ id: 'source', engine: 'custom', push: true, token: TOKEN }] },
  notifications: {
    targets: [{ id: 'hook', type: 'webhook', url: ledger.url }],
    notifications: [{ id: 'monitors', condition: 'monitor-alerts', targets: ['hook'] }],
  },
});
const start = (): Promise<Served> => startServer(folders);
const poster = startPoster(TOKEN, seed);
const killed = await killAll(start, poster);
const unsent = await drain(start, poster);
const { delivered, repeated, faults } = ledger.settle(poster.lastAccepted());
await ledger.end();
const lost = poster.accepted() - delivered;
console.log(
  `${killed} kills: ${poster.accepted()} accepted, ${delivered} delivered, ${lost} lost, ${repeated} repeated with the same webhook-id, ${faults.length} faults; deliveries not sent: ${unsent}`,
);
for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`);
process.exitCode = lost === 0 && faults.length === 0 && unsent === 0 ? 0 : 1;
