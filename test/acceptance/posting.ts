import * as z from 'zod';
import type { Served } from './bin.ts';

const TOKEN = 'token-of-the-posting-pipeline';

/** The pipeline that may post. */
export const POSTING = { id: 'edge', engine: 'custom', push: true, token: TOKEN };

/** A notification of everything that is posted for monitors. */
export const monitors = (...targets: string[]): object => ({
  id: 'monitors',
  condition: 'monitor-alerts',
  targets,
});

interface Posted {
  readonly condition: string;
  readonly key: string;
  readonly state: 'ALARM' | 'OK';
  readonly id?: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

export const alarm = (key: string): Posted => ({
  condition: 'monitor-alerts',
  key,
  state: 'ALARM',
  id: `${key} begins`,
});

export const end = (key: string): Posted => ({
  condition: 'monitor-alerts',
  key,
  state: 'OK',
  id: `${key} ends`,
});

/** What keeps a heartbeat from being missed. */
export const beat = (key: string): Posted => ({ condition: 'heartbeat', key, state: 'OK' });

/** Hands in events, which are on disk when this resolves. Throws unless they are accepted. */
export async function post(server: Pick<Served, 'url'>, events: readonly Posted[]): Promise<void> {
  const answer = await fetch(`${server.url}/ingest/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(events),
  });
  const told: unknown = await answer.json();
  const { accepted } = z.looseObject({ accepted: z.number().optional() }).parse(told);
  if (answer.status !== 200 || accepted !== events.length)
    throw new Error(`posting answered ${answer.status}: ${JSON.stringify(told)}`);
}

export const keys = (count: number, name = 'key'): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);
