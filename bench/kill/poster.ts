import { pause } from '../delivery/poster.ts';

const SOURCES = 4;
const SUBJECTS_EACH = 50;
/** Subjects that one request tells of. */
const PER_REQUEST = 10;
/** Between two requests of a source. */
const PAUSE_MS = 25;
const TIMEOUT_MS = 5000;

/** Sources that post without end, to whoever listens, and post the same again until it is answered with 200. */
export interface Poster {
  sendTo(url: string | undefined): void;
  accepted(): number;
  /** By subject, how many of its events were accepted. */
  lastAccepted(): ReadonlyMap<string, number>;
  /** Begins nothing new and waits until what was begun is accepted. */
  finish(): Promise<void>;
}

/** The `seed` stands in every id, so that two runs have none in common. */
export function startPoster(token: string, seed: number): Poster {
  const numbers = new Map<string, number>();
  let url: string | undefined;
  let accepted = 0;
  let isOver = false;

  /** ALARM and OK in turns: each event changes something and is told. */
  const eventOf = (key: string): object => {
    const number = (numbers.get(key) ?? 0) + 1;
    return {
      condition: 'monitor-alerts',
      key,
      state: number % 2 === 1 ? 'ALARM' : 'OK',
      id: `${seed}-${key}-${number}`,
      fields: { number },
    };
  };

  const isTaken = (body: string): Promise<boolean> =>
    fetch(`${url}/ingest/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).then(
      // Only an answer that came whole counts as one.
      answer => answer.text().then(() => answer.status === 200),
      () => false,
    );

  async function tell(keys: readonly string[]): Promise<void> {
    const body = JSON.stringify(keys.map(eventOf));
    while (url === undefined || !(await isTaken(body).catch(() => false))) await pause(PAUSE_MS);
    for (const key of keys) numbers.set(key, (numbers.get(key) ?? 0) + 1);
    accepted += keys.length;
  }

  async function source(name: number): Promise<void> {
    const keys = Array.from({ length: SUBJECTS_EACH }, (_, index) => `source-${name}-${index}`);
    for (let at = 0; !isOver; at = (at + PER_REQUEST) % keys.length) {
      await tell(keys.slice(at, at + PER_REQUEST));
      await pause(PAUSE_MS);
    }
  }

  const sources = Promise.all(Array.from({ length: SOURCES }, (_, name) => source(name)));
  return {
    sendTo(next) {
      url = next;
    },
    accepted: () => accepted,
    lastAccepted: () => numbers,
    async finish() {
      isOver = true;
      await sources;
    },
  };
}
