import type { FastifyRequest } from 'fastify';
import type { Authenticate } from '../auth/sessions/authenticate.ts';
import type { ErrorCode } from '../lib/errors.ts';
import type { ReceiveEvents } from '../notifications/external-events.ts';
import type { Monitor } from '../pipelines/monitor.ts';
import type { WorkspaceContext } from '../resources/context.ts';
import type { IngestEndpoint } from '../resources/ingest.ts';

/** A workspace as the API serves it. */
export interface ServedWorkspace {
  readonly context: WorkspaceContext;
  /** Who calls, as far as this workspace knows them. Throws `not-found` for whoever has no part in it. */
  readonly authenticate: Authenticate;
  /** Throws `unavailable` in a process that does not lead. */
  readonly monitor: () => Monitor;
  /** Counts what a pipeline pushed and was refused. */
  readonly ingestRefused: (pipeline: string, code: ErrorCode) => void;
  /** Takes external events; rejects with `unavailable` in a process that does not lead. */
  readonly receiveEvents: ReceiveEvents;
  /** Address of the process that leads; undefined when it is this one. Throws `unavailable` when nobody does. */
  readonly leaderUrl: () => Promise<string | undefined>;
}

/** The workspace that a request is about, by the host it was sent to. Throws `not-found` where there is none. */
export type WorkspaceOf = (request: Pick<FastifyRequest, 'host'>) => ServedWorkspace;

/** Where the workspace lets senders in. Throws `unavailable` in a process that does not lead. */
export const ingestEndpointOf = ({
  monitor,
  context: house,
}: Pick<ServedWorkspace, 'monitor' | 'context'>): IngestEndpoint => ({
  monitor: monitor(),
  ingestTokens: house.ingestTokens,
});
