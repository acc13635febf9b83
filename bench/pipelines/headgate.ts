import { join } from 'node:path';
import * as z from 'zod';
import { startServer } from '../../test/acceptance/bin.ts';
import { login } from '../../test/acceptance/client.ts';
import { writeConfiguration } from '../../test/acceptance/files.ts';
import { headgate as product } from '../delivery/headgate.ts';
import { usageOf } from '../delivery/usage.ts';
import { rules } from './rules.ts';
import { INTERVAL_SEC, TIMEOUT_SEC, type Watcher, WINDOW_SEC } from './watcher.ts';
import type { World } from './world.ts';

export interface HeadgateWatcher extends Watcher {
  readonly url: string;
}

export const headgate = { name: product.name, version: product.version, start };

const total = z.object({ totalCount: z.number() });

async function start(world: World, folder: string): Promise<HeadgateWatcher> {
  const { pages, perPage } = world.size;
  const config = join(folder, 'config');
  writeConfiguration(config, {
    settings: {
      pipelines: Array.from({ length: pages }, (_, page) => ({
        id: `edge_${page}`,
        engine: 'custom',
        url: `http://${world.host}/page/${page}`,
        interval: `${INTERVAL_SEC}s`,
        timeout: `${TIMEOUT_SEC}s`,
        rules,
      })),
    },
    notifications: {
      targets: [{ id: 'hook', type: 'webhook', url: world.hook }],
      notifications: [
        {
          id: 'silent',
          condition: 'no-data',
          targets: ['hook'],
          conf: { name: 'syslog:*', timeWindow: `${WINDOW_SEC}s` },
        },
      ],
    },
  });
  const server = await startServer({ config, data: join(folder, 'data') });
  const headers = { authorization: (await login(server.url)).token };
  return {
    url: server.url,
    async knowsAll() {
      const answer = await fetch(`${server.url}/api/v1/system/inputs?limit=1`, { headers });
      return total.parse(await answer.json()).totalCount === pages * perPage;
    },
    usage: () => usageOf(server.pid),
    end: server.kill,
  };
}
