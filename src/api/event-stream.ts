import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Actor, authorise } from '../auth/actor.ts';
import type { Clock } from '../lib/clock.ts';
import { createRepeat } from '../lib/repeat.ts';
import type { Operation } from './operation.ts';
import type { WorkspaceOf } from './served-workspace.ts';

/** Server-sent events to one reader. */
export interface EventStream {
  send(event: string, data: object): void;
  end(): void;
}

interface EventStreamOptions {
  readonly operation: Operation;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly tenantOf: WorkspaceOf;
  readonly clock: Clock;
  /** Begins to send events; what it returns is called once, when the stream is over for whatever reason. */
  readonly feed: (stream: EventStream) => () => void;
}

/** Between two comments that keep the connection alive through proxies. */
const KEEP_ALIVE_MS = 15_000;
/**
 * Between two checks of the token. Caches follow changes of other processes within half a second, so a stream ends
 * within a second of its permission.
 */
const CHECK_MS = 400;
/** A reader with more waiting bytes is disconnected; it reconnects and reads anew. */
const MOST_WAITING_BYTES = 256 * 1024;

/**
 * Answers with server-sent events for as long as the caller may read them: the token is checked as for a new request,
 * again and again. Every answer that goes on after its request was authorised is opened here.
 */
export function openEventStream(options: EventStreamOptions): void {
  const { operation, request, reply, tenantOf, clock } = options;
  const { authorization } = request.headers;
  let isOver = false;
  reply.hijack();
  const response = begin(reply.raw, reply.getHeaders());

  async function check(): Promise<void> {
    const actor = await tenantOf(request).authenticate(authorization, request.ip);
    authoriseRead(actor, operation);
  }

  const checking = createRepeat({ clock, interval: CHECK_MS, work: check, faults: { failed: end } });
  const keepingAlive = createRepeat({
    clock,
    interval: KEEP_ALIVE_MS,
    work: () => write(response, ': here\n\n'),
    faults: { failed: end },
  });

  const stopFeed = options.feed({
    send(event, data) {
      if (!isOver) write(response, `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    end,
  });

  function end(): void {
    if (isOver) return;
    isOver = true;
    void checking.stop();
    void keepingAlive.stop();
    stopFeed();
    response.end();
  }

  checking.start();
  keepingAlive.start();
  response.once('close', end);
  // A client that left while its token was checked has emitted `close` already.
  if (response.destroyed) end();
}

/** Throws as `authorise` does. */
export function authoriseRead(actor: Actor, { access, id }: Pick<Operation, 'access' | 'id'>): void {
  if (access === 'any actor' || access === 'pipeline' || access === 'public')
    throw new Error(`the stream ${id} needs a permission`);
  authorise(actor, access);
}

/** The first line sets how soon browsers reconnect. */
function begin(response: ServerResponse, headers: object): ServerResponse {
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream; charset=utf-8' });
  response.write('retry: 2000\n\n');
  return response;
}

function write(response: ServerResponse, text: string): void {
  if (response.writableLength > MOST_WAITING_BYTES) response.destroy();
  else response.write(text);
}
