import { Pool } from 'undici';
import type { BenchEvent, RunningSystem } from './system.ts';

const SOCKETS = 4;
const BATCH = 50;
const TIMEOUT_MS = 30_000;

const now = (): number => performance.timeOrigin + performance.now();

/** A source of events with kept connections. */
export interface Poster {
  /** One request for all of them; throws when they are not taken. */
  post(events: readonly BenchEvent[]): Promise<void>;
  /** In lists of 50, over all connections at once; answers when it began, in epoch ms. */
  burst(events: readonly BenchEvent[], batch?: number): Promise<number>;
  /** Each event by itself, so many a second. */
  paced(events: readonly BenchEvent[], perSecond: number): Promise<void>;
  end(): Promise<void>;
}

export function createPoster(system: RunningSystem): Poster {
  const pool = new Pool(system.origin, {
    connections: SOCKETS,
    pipelining: 1,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  });

  async function post(events: readonly BenchEvent[]): Promise<void> {
    const { path, headers, body } = system.request(events, now());
    const answer = await pool.request({ path, method: 'POST', headers, body });
    const text = await answer.body.text();
    if (answer.statusCode !== 200)
      throw new Error(`a post was answered with ${answer.statusCode}: ${text.slice(0, 300)}`);
  }

  return {
    post,
    async burst(events, batch = BATCH) {
      const begun = now();
      let next = 0;
      const socket = async (): Promise<void> => {
        while (next < events.length) {
          const at = next;
          next += batch;
          await post(events.slice(at, next));
        }
      };
      await Promise.all(Array.from({ length: SOCKETS }, socket));
      return begun;
    },
    async paced(events, perSecond) {
      const begun = performance.now();
      const posts: Promise<void>[] = [];
      for (const [index, event] of events.entries()) {
        const waitMs = begun + (index * 1000) / perSecond - performance.now();
        if (waitMs > 0) await pause(waitMs);
        posts.push(post([event]));
      }
      await Promise.all(posts);
    },
    end: () => pool.destroy(),
  };
}

export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));
