import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { Actor } from '../../auth/actor.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError, codeOf } from '../../lib/errors.ts';
import { createRepeat } from '../../lib/repeat.ts';
import type { WorkspaceContext } from '../../resources/context.ts';
import { authoriseRead, type EventStream, openEventStream } from '../event-stream.ts';
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

/** Between two looks for new and gone inputs and outputs. */
const POLL_MS = 1000;

export interface StreamOptions {
  readonly tenantOf: WorkspaceOf;
  readonly clock: Clock;
  /** The owner of the request's token. */
  readonly actorOf: (request: FastifyRequest) => Actor | undefined;
}

export function addStream(scope: FastifyInstance, { tenantOf, clock, actorOf }: StreamOptions): void {
  const open = new Set<EventStream>();
  scope.addHook('preClose', async () => {
    for (const stream of open) stream.end();
  });

  function assertMayListen(actor: Actor, request: FastifyRequest): void {
    try {
      authoriseRead(actor, streamOperation);
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
    const actor = actorOf(request);
    const { context, limits } = tenantOf(request);
    if (actor === undefined) throw new AppError('unauthenticated', 'A token is needed');
    assertMayListen(actor, request);
    const leave = limits.openStream();
    const feed = (stream: EventStream) => {
      const endHints = feedHints(stream, { context, clock, open });
      return () => {
        endHints();
        leave();
      };
    };
    try {
      openEventStream({ operation: streamOperation, request, reply, tenantOf, clock, feed });
    } catch (error) {
      leave();
      throw error;
    }
    return reply;
  });
}

function feedHints(
  stream: EventStream,
  { context, clock, open }: Pick<StreamOptions, 'clock'> & HintSource,
): () => void {
  const unsubscribe = context.subscribe(({ resource: noun, id }) => {
    if (HINT_KINDS.some(one => one === noun)) stream.send(noun, { id });
  });
  let { revision } = context.components;
  const polling = createRepeat({
    clock,
    interval: POLL_MS,
    work: () => {
      if (context.components.revision === revision) return;
      ({ revision } = context.components);
      stream.send('components', { id: '*' });
    },
    faults: { failed: () => stream.end() },
  });
  polling.start();
  open.add(stream);
  return () => {
    open.delete(stream);
    unsubscribe();
    void polling.stop();
  };
}

interface HintSource {
  readonly context: WorkspaceContext;
  readonly open: Set<EventStream>;
}
