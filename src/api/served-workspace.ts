import type { FastifyRequest } from 'fastify';
import type { WorkspaceLimits } from '../auth/limits/workspace-limits.ts';
import type { Authenticate } from '../auth/sessions/authenticate.ts';
import type { ErrorCode } from '../lib/errors.ts';
import type { ReceiveEvents } from '../notifications/external-events.ts';
import type { Monitor } from '../pipelines/monitor.ts';
import type { WorkspaceContext } from '../resources/context.ts';
import type { IngestEndpoint } from '../resources/ingest.ts';

/** A workspace as the API serves it. */
export interface ServedWorkspace {
  readonly context: WorkspaceContext;
  /** Identifies the caller. Throws `not-found` for a caller without access to the workspace. */
  readonly authenticate: Authenticate;
  /** Divides what all workspaces of the installation share. */
  readonly limits: WorkspaceLimits;
  /** Throws `unavailable` in a process that does not lead. */
  readonly monitor: () => Monitor;
  /** Counts a refused push of a pipeline. */
  readonly ingestRefused: (pipeline: string, code: ErrorCode) => void;
  /** Takes external events; rejects with `unavailable` in a process that does not lead. */
  readonly receiveEvents: ReceiveEvents;
  /** Address of the process that leads; undefined when it is this one. Throws `unavailable` when none does. */
  readonly leaderUrl: () => Promise<string | undefined>;
}

/** Finds the workspace of a request by the host it was sent to. Throws `not-found`. */
export type WorkspaceOf = (request: Pick<FastifyRequest, 'host'>) => ServedWorkspace;

/** Throws `unavailable` in a process that does not lead. */
export const ingestEndpointOf = ({
  monitor,
  context,
}: Pick<ServedWorkspace, 'monitor' | 'context'>): IngestEndpoint => ({
  monitor: monitor(),
  ingestTokens: context.ingestTokens,
});
