import { percentile, printTable } from '../delivery/table.ts';
import { type Measured, PASSWORD, startMeasured } from './server.ts';

const SAMPLES = 200;
interface Kind {
  readonly name: string;
  refuse(server: Measured, address: string): ReturnType<Measured['logIn']>;
}

const WRONG = 'the wrong password for anybody';

/** Each costs a hash, so that its time tells nothing of the name. */
const COMPARED: readonly Kind[] = [
  { name: 'wrong password', refuse: (server, address) => server.logIn('ann', WRONG, address) },
  { name: 'unknown name', refuse: (server, address) => server.logIn('nobody', WRONG, address) },
  {
    name: 'disabled user, right password',
    refuse: (server, address) => server.logIn('off', PASSWORD, address),
  },
  { name: 'empty password', refuse: (server, address) => server.logIn('ann', '', address) },
  { name: 'over-long password', refuse: (server, address) => server.logIn('ann', 'x'.repeat(300), address) },
];

/** Names that have failed too often are refused before anything is compared, whosever they are. */
const LIMITED: readonly Kind[] = [
  { name: 'limited, a name that is known', refuse: (server, address) => server.logIn('ann', WRONG, address) },
  { name: 'limited, unknown name', refuse: (server, address) => server.logIn('nobody', WRONG, address) },
];

/** Whether the time of a refusal tells who exists: the kinds in turns, in another order each time. */
export async function measureRefusals(): Promise<void> {
  await compare(COMPARED, '1000/second', 401, []);
  await compare(LIMITED, '1/hour', 429, ['ann', 'nobody']);
}

async function compare(kinds: readonly Kind[], limit: string, status: number, used: readonly string[]) {
  const server = await startMeasured(limit);
  const times = new Map<string, number[]>(kinds.map(({ name }) => [name, []]));
  const bodies = new Set<string>();
  const nextAddress = addresses();
  try {
    await server.addUser('ann');
    await server.addUser('off', { disabled: true });
    for (const name of used) await server.logIn(name, WRONG, nextAddress());
    for (let sample = 0; sample < SAMPLES; sample++)
      for (const kind of shuffled(kinds)) {
        const answer = await kind.refuse(server, nextAddress());
        if (answer.status !== status) throw new Error(`${kind.name} was answered ${answer.status}`);
        const { requestId: _, ...body } = JSON.parse(answer.text);
        bodies.add(JSON.stringify(body));
        times.get(kind.name)?.push(answer.ms);
      }
  } finally {
    await server.end();
  }
  report(times, bodies, status);
}

function report(times: ReadonlyMap<string, readonly number[]>, bodies: ReadonlySet<string>, status: number) {
  const rows = [...times].map(([name, all]) => ({
    name,
    low: percentile(all, 0.25),
    middle: percentile(all, 0.5),
    high: percentile(all, 0.75),
  }));
  printTable(
    [`answered ${status}, ms`, 'lower quartile', 'median', 'upper quartile'],
    rows.map(({ name, low, middle, high }) => [name, ...[low, middle, high].map(value => value.toFixed(2))]),
  );
  const overlap = Math.max(...rows.map(({ low }) => low)) <= Math.min(...rows.map(({ high }) => high));
  console.log(`  bodies: ${bodies.size}, goal 1  ${bodies.size === 1 ? 'reached' : 'missed'}`);
  console.log(`  quartiles of all overlap: ${overlap ? 'yes  reached' : 'no  missed'}`);
  const apart = (of: (row: (typeof rows)[number]) => number): string => {
    const all = rows.map(of);
    return `${((Math.max(...all) / Math.min(...all) - 1) * 100).toFixed(1)} %`;
  };
  console.log(`  lower quartiles ${apart(({ low }) => low)} apart, medians ${apart(({ middle }) => middle)}`);
}

const shuffled = <Item>(items: readonly Item[]): Item[] =>
  items
    .map(item => ({ item, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
/** Addresses that nobody else has, one after the other. */
function addresses(): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `10.${(count >> 16) & 255}.${(count >> 8) & 255}.${count & 255}`;
  };
}
