import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../test/acceptance/bin.ts';
import { until } from '../../test/helpers/until.ts';
import { bundle } from '../delivery/bundle.ts';
import { printGoal, printTable, spread } from '../delivery/table.ts';
import { temporaryFolder } from '../delivery/temporary.ts';
import { startMeasured } from './server.ts';
import { figuresOf, inTurns, ratioOf, type Side } from './turns.ts';

const PATH = '/api/v1/system/inputs';
const LOAD = { rounds: 11, requests: 4000, warmUp: 3000 } as const;
const NAMES = ['Headgate', 'bare fastify'] as const;

/** `GET` of 20 inputs with a token, against the same objects sent to whoever asks. */
export async function measureReading(): Promise<void> {
  const server = await startMeasured('1000/second');
  const { text } = await server.ask({ method: 'GET', path: PATH });
  const bare = await startBare(text);
  const [ours, floor] = NAMES;
  const sides: readonly Side[] = [
    {
      name: ours,
      pid: server.pid,
      url: server.url,
      request: { method: 'GET', path: PATH, headers: { authorization: server.token } },
    },
    { name: floor, pid: bare.pid, url: bare.url, request: { method: 'GET', path: '/', headers: {} } },
  ];
  try {
    const rounds = await inTurns(sides, LOAD);
    printTable(
      ['', 'CPU µs of a request', 'requests/s'],
      NAMES.map(name => [
        name,
        spread(figuresOf(rounds, name, ({ cpuUs }) => cpuUs)),
        spread(figuresOf(rounds, name, ({ perSecond }) => perSecond)),
      ]),
    );
    console.log(`  ${text.length} bytes of JSON in each answer`);
    printGoal(
      'requests in a CPU second, of those of bare fastify',
      1 / ratioOf(rounds, NAMES, ({ cpuUs }) => cpuUs),
      '>=',
      0.7,
    );
    printGoal(
      'requests/s by the clock, of those of bare fastify',
      ratioOf(rounds, NAMES, ({ perSecond }) => perSecond),
      '>=',
      0.7,
    );
  } finally {
    await bare.kill();
    await server.end();
  }
}

async function startBare(objects: string) {
  const folder = temporaryFolder();
  const file = join(folder, 'objects.json');
  writeFileSync(file, objects);
  const script = await bundle(join(import.meta.dirname, 'bare-process.ts'), folder);
  const running = run(process.execPath, [script, file], { NODE_ENV: 'production' });
  const url = () => /^ready on (\S+)$/m.exec(running.stdout())?.[1];
  await until(() => url() !== undefined, 'a ready bare server');
  return { pid: running.pid, url: url() ?? '', kill: running.kill };
}
