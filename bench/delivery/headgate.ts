import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { startServer } from '../../test/acceptance/bin.ts';
import { login } from '../../test/acceptance/client.ts';
import { writeConfiguration } from '../../test/acceptance/files.ts';
import { until } from '../../test/helpers/until.ts';
import { type BenchEvent, filled, type Hook, type RunningSystem, type Setup } from './system.ts';

/** Requests under way to one receiver where each event has its own: as many as there are connections to an origin. */
export const CONCURRENCY = 16;
const TOKEN = 'token-of-the-measuring-pipeline';
/** The saved search all keys belong to. */
const SEARCH = 'bench';

export interface HeadgateSystem extends RunningSystem {
  /** How the deliveries to a target stand, oldest first. */
  deliveries(target: string): Promise<readonly DeliveryState[]>;
}

type DeliveryState = z.infer<typeof delivery>;
const delivery = z.object({ state: z.string(), attempts: z.number() });
const deliveryPage = z.object({ items: z.array(delivery) });
const status = z.object({ items: z.array(z.looseObject({ loadedAt: z.unknown() })) });

const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')));

export const headgate = { name: 'Headgate', version, start: startHeadgate };

const targetOf = ({ name, url }: Hook, { requests }: Setup, round: number): object => ({
  id: name,
  type: 'webhook',
  url,
  description: `Round ${round}`,
  ...(requests === 'one' && { maxPayloadEvents: 1, concurrency: CONCURRENCY }),
});

function configure(folder: string, setup: Setup, round: number): void {
  const { hooks, groupWaitSec, isQuiet = false, retrySchedule } = setup;
  const targets = isQuiet
    ? [{ id: 'quiet', type: 'notifications_log', logNotifications: false }]
    : hooks.map(hook => targetOf(hook, setup, round));
  writeConfiguration(folder, {
    settings: {
      pipelines: [{ id: 'source', engine: 'custom', push: true, token: TOKEN }],
      ...(retrySchedule && { delivery: { retrySchedule } }),
    },
    notifications: {
      targets,
      notifications: [
        {
          id: 'bench',
          condition: 'search',
          targets: isQuiet ? ['quiet'] : hooks.map(({ name }) => name),
          conf: { savedQueryId: SEARCH, message: 'what was searched for has been found' },
          ...(groupWaitSec !== undefined && { groupBy: ['group'], groupWait: `${groupWaitSec}s` }),
        },
      ],
    },
  });
}

async function startHeadgate(setup: Setup): Promise<HeadgateSystem> {
  const config = join(setup.folder, 'config');
  configure(config, setup, 0);
  const server = await startServer({ config, data: join(setup.folder, 'data') });
  const headers = { authorization: (await login(server.url)).token };
  const read = async (path: string): Promise<unknown> => {
    const answer = await fetch(`${server.url}/api/v1${path}`, { headers });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.json();
  };
  const loadedAt = async () =>
    JSON.stringify(status.parse(await read('/system/config/status')).items[0]?.loadedAt);
  return {
    pid: server.pid,
    origin: server.url,
    request: (events, sent) => ({
      path: '/ingest/events',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify(events.map(event => postedOf(event, sent))),
    }),
    async reload(round) {
      const before = await loadedAt();
      configure(config, setup, round);
      server.signal('SIGHUP');
      await until(async () => (await loadedAt()) !== before, 'a reload');
    },
    list: { path: '/api/v1/incidents?state=open&limit=50', headers },
    deliveries: async target =>
      deliveryPage.parse(await read(`/deliveries?target=${target}&limit=100`)).items.toReversed(),
    kill: server.kill,
  };
}

/** The id says what happened, so that a source that repeats itself counts once. */
const postedOf = ({ key, state, group }: BenchEvent, sent: number): object =>
  filled(text => ({
    condition: 'search',
    key: `${SEARCH}/${key}`,
    state,
    id: `${key} ${state}`,
    fields: { sent, text, ...(group !== undefined && { group }) },
  }));
