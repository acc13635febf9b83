import { createServer } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import { type Listening, listenOnLoopback } from './loopback.ts';
import { vectorPage } from './vector-page.ts';

export interface SimulatedPipeline extends Listening {
  /** Starts the script; until then nothing flows. */
  begin(): void;
}

/** A pipeline whose metrics page looks like Vector's, at `/metrics` on a free port of loopback. */
export async function startSimulatedPipeline(clock: Clock): Promise<SimulatedPipeline> {
  let begunAt: number | undefined;
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end('The metrics are at /metrics\n');
      return;
    }
    const elapsedMs = begunAt === undefined ? 0 : clock.monotonic() - begunAt;
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' });
    response.end(vectorPage(elapsedMs, clock.now()));
  });
  const listening = await listenOnLoopback(server);
  return {
    ...listening,
    begin() {
      begunAt ??= clock.monotonic();
    },
  };
}
