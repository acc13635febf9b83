import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import type { Served } from './bin.ts';
import { installation, logIn, noData, serve, sink, stop, until, webhook } from './harness.ts';
import type { Sink } from './sink.ts';

const KILLS = 20;
const INPUTS = 150;
const PUSH_EVERY_MS = 100;
const FLAP_EVERY_MS = 1500;
const TOKEN = 'token-of-the-flapping-pipeline';
const names = Array.from({ length: INPUTS }, (_, index) => `in${index}`);

const seed = Number(process.env.KILL_SEED ?? Math.floor(Math.random() * 2 ** 32));

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

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

/** Inputs that send or are silent, whoever listens at the moment. */
function flappingInputs(random: () => number) {
  let sending = names;
  let url: string | undefined;
  const pushing = setInterval(() => void push(), PUSH_EVERY_MS);
  const flapping = setInterval(flap, FLAP_EVERY_MS);
  onTestFinished(() => {
    clearInterval(pushing);
    clearInterval(flapping);
  });

  /** About half of them change what they do. */
  function flap(): void {
    sending = names.filter(() => random() < 0.5);
  }

  async function push(): Promise<void> {
    if (url === undefined || sending.length === 0) return;
    const samples = sending.map(id => ({ kind: 'input', type: 'flap', id, metric: 'in_events', value: 1 }));
    await fetch(`${url}/ingest/samples`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ temporality: 'delta', samples }),
    }).then(
      answer => answer.text(),
      () => 'the server was killed meanwhile',
    );
  }

  return {
    /** All send from now on. */
    calm() {
      clearInterval(flapping);
      sending = names;
    },
    sendTo(server: Served | undefined) {
      url = server?.url;
    },
  };
}

/** Lets the server live until the moment the seed says: soon after its start, or amid the deliveries of a burst. */
async function liveOn(hook: Sink, random: () => number): Promise<void> {
  const kind = random();
  if (kind < 0.25) return pause(random() * 1200);
  // The first second brings what was left over, the next the transitions of this life.
  if (kind < 0.75) await pause(1000);
  const before = hook.requests.length;
  await until(() => hook.requests.length > before, 'a delivery');
  await pause(random() * 150);
}

const rows = <Row>(database: Database.Database, query: string, row: z.ZodType<Row>): Row[] =>
  z.array(row).parse(database.prepare(query).all());

const storedEvent = z.object({ id: z.string(), incident_id: z.string() });
const storedDelivery = z.object({
  id: z.string(),
  /** Sent in place of its id when it travels with others. */
  batch: z.string().nullable(),
  event_id: z.string(),
  state: z.string(),
  notification: z.string(),
  subject: z.string(),
});

function readStore(file: string) {
  const database = new Database(file, { readonly: true });
  try {
    return {
      events: rows(database, 'select id, incident_id from events order by id', storedEvent),
      deliveries: rows(
        database,
        'select id, batch, event_id, state, notification, subject from deliveries order by id',
        storedDelivery,
      ),
    };
  } finally {
    database.close();
  }
}

/** Lists of values by key, each in the order given. */
function grouped<Item>(
  items: readonly Item[],
  key: (item: Item) => string,
  value: (item: Item) => string,
): Readonly<Record<string, readonly string[]>> {
  const groups: Record<string, string[]> = {};
  for (const item of items) {
    const group = groups[key(item)] ?? [];
    group.push(value(item));
    groups[key(item)] = group;
  }
  return groups;
}

it(`delivers every accepted transition although it is killed ${KILLS} times`, async () => {
  process.stdout.write(`kill test: KILL_SEED=${seed}\n`);
  const random = randomFrom(seed);
  const hook = await sink();
  const folders = installation({
    settings: { pipelines: [{ id: 'edge', engine: 'custom', push: true, token: TOKEN }] },
    notifications: {
      targets: [webhook('hook', hook)],
      notifications: names.map(name => noData(`silent_${name}`, `flap:${name}`, '1s')),
    },
  });
  const inputs = flappingInputs(randomFrom(seed + 1));
  for (let kill = 0; kill < KILLS; kill++) {
    const server = await serve(folders);
    inputs.sendTo(server);
    await liveOn(hook, random);
    await server.kill();
  }
  inputs.calm();
  const server = await serve(folders);
  inputs.sendTo(server);
  const api = await logIn(server.url);
  await until(async () => (await api.total('/incidents?state=open')) === 0, 'the end of every incident');
  await until(async () => (await api.total('/deliveries?state=waiting')) === 0, 'an empty queue');
  inputs.sendTo(undefined);
  expect(await stop(server)).toEqual({ code: 0, signal: null });

  const { events, deliveries } = readStore(join(folders.data, 'headgate.db'));
  const repeats = hook.taken.length - hook.events().length;
  const together = deliveries.filter(row => row.batch !== null).length;
  process.stdout.write(
    `kill test: ${events.length} transitions, ${together} of them together, ${repeats} came again\n`,
  );
  expect(together).toBeGreaterThan(0);
  expect(events.length).toBeGreaterThan(INPUTS);
  expect(hook.refusals).toEqual([]);

  // Every accepted transition has its one delivery, each was sent, and the sink has exactly these.
  expect(deliveries.map(row => row.event_id).sort()).toEqual(events.map(row => row.id).sort());
  expect(deliveries.filter(row => row.state !== 'sent')).toEqual([]);
  const ids = new Map(deliveries.map(row => [row.event_id, row.batch ?? row.id]));
  expect(hook.taken.filter(({ webhookId, event }) => webhookId !== ids.get(event.id))).toEqual([]);
  expect(
    hook
      .events()
      .map(event => event.id)
      .sort(),
  ).toEqual([...ids.keys()].sort());

  // Ids grow with time, so the order of a subject's events is that of their deliveries' ids.
  const subjects = new Map(deliveries.map(row => [row.event_id, `${row.notification} ${row.subject}`]));
  const order = (events: readonly string[]) =>
    grouped(
      events,
      id => subjects.get(id) ?? '',
      id => id,
    );
  expect(order(hook.events().map(event => event.id))).toEqual(order(deliveries.map(row => row.event_id)));
  const statuses = grouped(
    hook.events(),
    event => event.incidentId,
    event => event.status,
  );
  expect([...new Set(Object.values(statuses).map(list => list.join()))]).toEqual(['ALARM,OK']);
});
