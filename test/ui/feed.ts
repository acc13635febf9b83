import { setTimeout as after } from 'node:timers/promises';

export const TOKEN = 'a-token-for-the-tests';
const EVERY_MS = 200;

/** Inputs that a test lets run and stop. */
export interface Feed {
  run(...ids: string[]): void;
  stop(id: string): void;
  end(): Promise<void>;
}

/** Pushes growing counters of the running inputs, five times a second, until it is ended. */
export function startFeed(url: string): Feed {
  const running = new Set<string>();
  let ended = false;
  let events = 0;

  async function push(): Promise<void> {
    events += 10;
    const samples = [...running].flatMap(id => [
      { kind: 'input', type: 'http', id, metric: 'in_events', value: events },
      { kind: 'input', type: 'http', id, metric: 'in_bytes', value: events * 100 },
    ]);
    const answer = await fetch(`${url}/ingest/samples`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ samples }),
    });
    if (!answer.ok) throw new Error(`the samples were refused: ${await answer.text()}`);
  }

  async function loop(): Promise<void> {
    while (!ended) {
      if (running.size > 0) await push();
      await after(EVERY_MS);
    }
  }
  const looped = loop();

  return {
    run: (...ids) => {
      for (const id of ids) running.add(id);
    },
    stop: id => void running.delete(id),
    end() {
      ended = true;
      return looped;
    },
  };
}
