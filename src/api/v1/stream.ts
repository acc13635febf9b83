import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { type Actor, authorise } from '../../auth/actor.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError, codeOf } from '../../lib/errors.ts';
import { createRepeat } from '../../lib/repeat.ts';
import type { Operation } from '../operation.ts';
import type { WorkspaceOf } from '../served-workspace.ts';

const HINT_KINDS = ['incidents', 'deliveries', 'messages', 'versions', 'components'] as const;
const hint = z.object({
  event: z.enum(HINT_KINDS).describe('What has changed.'),
  id: z.string().describe('Id of the object; `*` for many, or when unknown.'),
});

export const streamOperation: Operation = {
  id: 'events.stream',
  method: 'GET',
  path: '/stream',
  summary: 'Hear of changes as they happen, as server-sent events',
  description:
    'Hints only: what has changed is read by its own operation. Some may be lost, so look again from time to time. ' +
    'The stream ends with its token.',
  access: 'read:incidents',
  params: {},
  query: {},
  takesIfMatch: false,
  answer: { kind: 'stream', shape: { name: 'Hint', schema: hint } },
  hasEtag: false,
  errors: [],
  example: {},
};

/** Between two comments that keep the stream alive; each time the token is checked again. */
const KEEP_ALIVE_MS = 15_000;
/** Between two looks for new and gone inputs and outputs. */
const POLL_MS = 1000;
const MOST_STREAMS = 200;
/** A reader with more waiting bytes is disconnected; it reconnects and reads anew. */
const MOST_WAITING_BYTES = 256 * 1024;

export interface StreamOptions {
  readonly tenantOf: WorkspaceOf;
  readonly clock: Clock;
  /** The owner of the request's token. */
  readonly actorOf: (request: FastifyRequest) => Actor | undefined;
}

export function addStream(scope: FastifyInstance, { tenantOf, clock, actorOf }: StreamOptions): void {
  const open = new Set<() => void>();
  scope.addHook('preClose', async () => {
    for (const end of open) end();
  });

  function assertMayListen(actor: Actor, request: FastifyRequest): void {
    try {
      authorise(actor, 'read:incidents');
    } catch (error) {
      const { ip: address, id: requestId } = request;
      const reason = codeOf(error);
      tenantOf(request).context.audit.refused({
        actor: actor.name,
        action: streamOperation.id,
        reason,
        address,
        requestId,
      });
      throw error;
    }
  }

  scope.get(streamOperation.path, { config: { isLive: true } }, async (request, reply) => {
    const { authorization } = request.headers;
    const actor = actorOf(request);
    const { context, authenticate } = tenantOf(request);
    if (actor === undefined) throw new AppError('unauthenticated', 'A token is needed');
    assertMayListen(actor, request);
    if (open.size >= MOST_STREAMS)
      throw new AppError('unavailable', `${MOST_STREAMS} streams are open already`, { retryAfterSeconds: 5 });
    reply.hijack();
    const response = openStream(reply.raw, reply.getHeaders());
    const sendHint = (noun: string, id: string): void =>
      write(response, `event: ${noun}\ndata: ${JSON.stringify({ id })}\n\n`);
    const unsubscribe = context.subscribe(({ resource: noun, id }) => {
      if (HINT_KINDS.some(one => one === noun)) sendHint(noun, id);
    });
    let { revision } = context.components;
    const looking = createRepeat({
      clock,
      interval: POLL_MS,
      work: () => {
        if (context.components.revision === revision) return;
        ({ revision } = context.components);
        sendHint('components', '*');
      },
      faults: { failed: end },
    });
    const beating = createRepeat({
      clock,
      interval: KEEP_ALIVE_MS,
      work: () => {
        write(response, ': here\n\n');
        authenticate(authorization, request.ip).catch(end);
      },
      faults: { failed: end },
    });
    looking.start();
    beating.start();
    function end(): void {
      open.delete(end);
      unsubscribe();
      void looking.stop();
      void beating.stop();
      response.end();
    }
    open.add(end);
    response.once('close', end);
    // A client that left while its token was checked has emitted `close` already.
    if (response.destroyed) end();
    return reply;
  });
}

/** The first line sets how soon browsers reconnect. */
function openStream(response: ServerResponse, headers: object): ServerResponse {
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream; charset=utf-8' });
  response.write('retry: 2000\n\n');
  return response;
}

function write(response: ServerResponse, text: string): void {
  if (response.writableLength > MOST_WAITING_BYTES) response.destroy();
  else response.write(text);
}
