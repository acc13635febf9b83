import { createServer, type ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { JSON_ENGINES } from '../../src/pipelines/engines/index.ts';
import { loadOf } from '../helpers/bombs/load.ts';
import { PAGE_BOMBS, type PageBomb } from '../helpers/bombs/pages.ts';
import { BOMB_ENVIRONMENT } from './bombarded.ts';
import { login } from './client.ts';
import { installation, serve, until } from './harness.ts';
import { listenLocally } from './listen-locally.ts';

/** For so long (ms of processor time) nobody else is answered at most. */
const MOST_STALL_MS = 200;
/** Of the whole process: its heap, a page of 50 MB that is read, one that is on its way, and the series that are kept. */
const MOST_MB = 800;
const LARGEST_PAGE = 60 * 1024 * 1024;
const TEXT_ENGINE = 'vector';

const PLAIN: PageBomb = {
  what: 'a plain page',
  body: () =>
    Buffer.from(
      'vector_component_received_events_total{component_id="app",component_kind="source",component_type="syslog"} 5\n',
    ),
};

it('has bombs for every format of pages', () => {
  expect(new Set(PAGE_BOMBS.map(({ engine = TEXT_ENGINE }) => engine))).toEqual(
    new Set([TEXT_ENGINE, ...JSON_ENGINES]),
  );
});

it.each([TEXT_ENGINE, ...JSON_ENGINES])(
  'reads every page of %s that is a bomb, says what is wrong with it, and answers others meanwhile',
  {
    timeout: 600_000,
  },
  async engine => {
    let next: { readonly headers: Record<string, string> | undefined; readonly body: Buffer } | undefined;
    let waiting: ServerResponse | undefined;
    /** Answers the page that waits for the next bomb: each is read once, as reading it is what costs. */
    function send(): void {
      if (next === undefined || waiting === undefined) return;
      waiting.writeHead(200, { 'content-type': 'text/plain', ...next.headers }).end(next.body);
      next = undefined;
      waiting = undefined;
    }
    const pages = await listenLocally(
      createServer((_, response) => {
        waiting = response;
        send();
      }),
    );
    onTestFinished(() => pages.end());
    const edge = {
      id: 'edge',
      engine,
      url: `${pages.url}/metrics`,
      interval: '1s',
      timeout: '30s',
      maxBytes: LARGEST_PAGE,
    };
    const server = await serve({
      ...installation({ settings: { pipelines: [edge] } }),
      environment: BOMB_ENVIRONMENT,
    });
    const { token: authorization } = await login(server.url);
    const over: string[] = [];
    const own = PAGE_BOMBS.filter(bomb => (bomb.engine ?? TEXT_ENGINE) === engine);
    for (const { body, ...bomb } of engine === TEXT_ENGINE ? [...own, PLAIN] : own) {
      const page = { headers: bomb.headers, body: body() };
      const loadOfReading = () => {
        next = page;
        send();
        // The page is asked for again when the one before was read.
        return loadOf(
          server,
          until(() => next === undefined && waiting !== undefined, bomb.what),
        );
      };
      const first = await loadOfReading();
      // What a page costs comes again; what a busy machine adds to it does not.
      const again = first.stallMs > MOST_STALL_MS ? await loadOfReading() : first;
      const stallMs = Math.min(first.stallMs, again.stallMs);
      const peakMb = Math.max(first.peakMb, again.peakMb);
      if (stallMs > MOST_STALL_MS) over.push(`${bomb.what}: others waited for ${Math.round(stallMs)} ms`);
      const answer = await fetch(`${server.url}/api/v1/system/engines`, { headers: { authorization } });
      const { items } = (await answer.json()) as { items: { error?: string }[] };
      const error = items[0]?.error ?? '';
      if (bomb.error === undefined)
        expect(error, bomb.what).not.toMatch(/cannot be read|not Prometheus|none that|: not /);
      else expect(error, bomb.what).toMatch(bomb.error);
      expect(peakMb, bomb.what).toBeLessThan(MOST_MB);
    }
    expect(over).toEqual([]);
  },
);
