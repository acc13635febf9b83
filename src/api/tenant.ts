import type { FastifyRequest } from 'fastify';
import type { Authenticate } from '../auth/authenticate.ts';
import type { ErrorCode } from '../lib/errors.ts';
import type { Posts } from '../notifications/posts.ts';
import type { Monitor } from '../pipelines/monitor.ts';
import type { Door } from '../resources/samples/sender.ts';
import type { House } from '../resources/verb.ts';

/** A workspace as the API serves it. */
export interface Tenant {
  readonly house: House;
  /** Who calls, as far as this workspace knows them. Throws `not-found` for whoever has no part in it. */
  readonly authenticate: Authenticate;
  /** Throws `unavailable` in a process that does not lead. */
  readonly monitor: () => Monitor;
  /** Counts what a pipeline pushed and was refused. */
  readonly ingestRefused: (pipeline: string, code: ErrorCode) => void;
  /** Takes events that others post; rejects with `unavailable` in a process that does not lead. */
  readonly post: Posts['post'];
  /** Address of the process that leads; undefined when it is this one. Throws `unavailable` when nobody does. */
  readonly leaderUrl: () => Promise<string | undefined>;
}

/** The workspace that a request is about, by the host it was sent to. Throws `not-found` where there is none. */
export type TenantOf = (request: Pick<FastifyRequest, 'host'>) => Tenant;

/** Where the workspace lets senders in. Throws `unavailable` in a process that does not lead. */
export const doorOf = ({ monitor, house }: Pick<Tenant, 'monitor' | 'house'>): Door => ({
  monitor: monitor(),
  ingestTokens: house.ingestTokens,
});
