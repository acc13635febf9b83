import { createServer, type ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import { listenLocally } from './listen-locally.ts';

/** How the page answers. `hang`: takes the request and never answers. */
type PageMood = 'well' | 'hang' | 'failing' | 'huge' | 'garbage';

const HUGE_BYTES = 50 * 1024 * 1024;

/** A Prometheus-text page whose counters the test holds. */
export interface MetricsPage {
  readonly url: string;
  readonly registry: Registry;
  /** Good pages that were handed out. */
  served(): number;
  requests(): number;
  become(mood: PageMood): void;
  /** Runs right after the next good page was rendered: nothing can be counted in between. */
  afterNextPage(change: () => void): Promise<void>;
  end(): Promise<void>;
}

export async function openMetricsPage(): Promise<MetricsPage> {
  const registry = new Registry();
  let mood: PageMood = 'well';
  let served = 0;
  let requests = 0;
  let waiting: (() => void)[] = [];

  async function answerWell(response: ServerResponse): Promise<void> {
    const text = await registry.metrics();
    served += 1;
    const now = waiting;
    waiting = [];
    for (const change of now) change();
    response.writeHead(200, { 'content-type': registry.contentType }).end(text);
  }

  const server = createServer((_request, response) => {
    requests += 1;
    if (mood === 'well') void answerWell(response);
    else if (mood === 'failing') response.writeHead(500).end('out of order');
    else if (mood === 'huge') writeHuge(response);
    else if (mood === 'garbage') response.writeHead(200, { 'content-type': 'text/plain' }).end(GARBAGE);
  });
  const { url, end } = await listenLocally(server);
  return {
    url: `${url}/metrics`,
    registry,
    served: () => served,
    requests: () => requests,
    become(next) {
      mood = next;
    },
    afterNextPage: change =>
      new Promise(resolve => {
        waiting.push(() => {
          change();
          resolve();
        });
      }),
    end,
  };
}

const GARBAGE = '<html><body>This is not the page you are looking for</body></html>\n\u0000\u0001 {{{ = 1\n';

/** Valid text, more of it than anybody should read. */
function writeHuge(response: ServerResponse): void {
  const line = 'vector_component_received_events_total{component_id="flood",component_kind="source"} 1\n';
  const block = Buffer.from(line.repeat(1000));
  let left = HUGE_BYTES;
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' });
  const write = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= block.length;
      if (!response.write(block)) return void response.once('drain', write);
    }
    response.end();
  };
  write();
}
