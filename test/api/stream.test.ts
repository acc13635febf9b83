import { createClient } from '@headgate/client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { type ApiServer, startApiServer } from './api-server.ts';

let server: ApiServer;
beforeEach(async () => {
  server = await startApiServer({
    settings: { pipelines: [{ id: 'edge', engine: 'custom', push: true, token: 'token-of-edge' }] },
  });
});
afterEach(() => server.stop());

const client = () =>
  createClient({
    baseUrl: server.url,
    auth: { username: 'admin', password: ADMIN_PASSWORD },
    ingestToken: 'token-of-edge',
  });

/** Begins to listen, and answers what comes next of that kind. */
async function listener(signal?: AbortSignal) {
  const hints = client().events.stream({}, signal === undefined ? {} : { signal });
  const events = hints[Symbol.asyncIterator]();
  return {
    async next(event: string): Promise<string> {
      for (;;) {
        const hint = await events.next();
        if (hint.done) throw new Error('the stream has ended');
        if (hint.value.event === event) return hint.value.id;
      }
    },
    async ended(): Promise<void> {
      while ((await events.next()).done !== true);
    },
    leave: () => events.return?.(),
  };
}

/** The listening begins with the request, so the first messages may come too early to be heard. */
async function hear({ next }: Awaited<ReturnType<typeof listener>>): Promise<string> {
  const heard = next('messages');
  for (let number = 0; ; number++) {
    await client().messages.create({ body: { id: `note${number}`, text: 'hello' } });
    const id = await Promise.race([
      heard,
      new Promise<undefined>(resolve => setImmediate(() => resolve(undefined))),
    ]);
    if (id !== undefined) return id;
  }
}

it('tells of messages and components as they come, and only which', async () => {
  const listening = await listener();
  expect(await hear(listening)).toMatch(/^note\d+$/);
  const seen = listening.next('components');
  await client().ingest.samples({
    body: { samples: [{ kind: 'input', id: 'app', metric: 'in_events', value: 1 }] },
  });
  expect(await seen).toBe('*');
  await listening.leave();
});

it('wants a token, and knows no other method', async () => {
  const stranger = await server.call('GET', '/api/v1/stream', { headers: [] });
  expect(stranger.status).toBe(401);
  const other = await server.call('POST', '/api/v1/stream');
  expect([other.status, other.headers.allow]).toEqual([405, 'GET, HEAD']);
});

it('ends when the listener goes', async () => {
  const abort = new AbortController();
  const { next } = await listener(abort.signal);
  const heard = next('messages');
  abort.abort(new Error('enough'));
  await expect(heard).rejects.toThrow('enough');
});

it('ends when the server stops', async () => {
  const listening = await listener();
  await hear(listening);
  const over = listening.ended();
  await server.stop();
  await over;
  server = await startApiServer({});
});
