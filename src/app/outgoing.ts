import { hostname } from 'node:os';
import type { HostedSettings, Settings } from '../config/settings.ts';
import type { Clock } from '../lib/clock.ts';
import { createDial, type Dial } from '../lib/dial.ts';
import { createHttpClient, type HttpClient } from '../lib/http/client.ts';
import { createEgress } from '../lib/http/egress.ts';
import { type AddressPolicy, type Resolve, resolveBySystem } from '../lib/http/guard.ts';
import { type Proxies, parseProxy } from '../lib/http/proxy.ts';
import { createLru } from '../lib/lru.ts';
import type { Sender } from '../targets/target.ts';

/** Receivers whose certificates are remembered. */
const MOST_CERTIFICATES = 10_000;

/** Every way out of the process. */
export interface Outgoing {
  readonly http: HttpClient;
  readonly dial: Dial;
  /** In whose name targets send. */
  readonly sender: Sender;
  /** The end of the certificate that an origin has shown, in epoch ms. */
  readonly certificateEnd: (origin: string) => number | undefined;
  readonly close: () => Promise<void>;
}

/** With the proxies, the identity and the inner network of the process: for its operator and nobody else. */
export interface InstallationOutgoing extends Outgoing {
  readonly reach: 'installation';
}

/**
 * For one workspace of many: to public addresses and those that the operator opens, directly or by `hosted.egressProxy`.
 * It has nothing of the process.
 */
export interface WorkspaceOutgoing extends Outgoing {
  readonly reach: 'workspace';
}

/** Throws `invalid-request` for an item of `allowedAddresses` that is no address and no range. */
export function installationOutgoing(options: {
  readonly delivery: Settings['delivery'];
  readonly proxies: Proxies;
  readonly clock: Clock;
  /** By default that of the system. */
  readonly resolve?: Resolve;
}): InstallationOutgoing {
  const { delivery, proxies, clock, resolve = resolveBySystem } = options;
  const { certificates, http } = observedClient({ ...delivery, proxies, clock, resolve });
  return {
    reach: 'installation',
    http,
    dial: createDial({ ...delivery, clock, resolve }),
    sender: { hostname: hostname(), isProcess: true },
    certificateEnd: origin => certificates.get(origin),
    close: () => http.close(),
  };
}

export interface WorkspaceOutgoingOptions {
  /** By the policy of workspaces. */
  readonly policy: AddressPolicy;
  readonly egressProxy: HostedSettings['egressProxy'];
  /** Where people reach the workspace. */
  readonly externalUrl: string;
  readonly mostLogFolders: number;
  readonly clock: Clock;
  /** By default that of the system. */
  readonly resolve?: Resolve;
}

/** Throws as above. */
export function workspaceOutgoing(options: WorkspaceOutgoingOptions): WorkspaceOutgoing {
  const { policy, egressProxy, externalUrl, mostLogFolders, clock, resolve = resolveBySystem } = options;
  const egress =
    egressProxy && createEgress(parseProxy('hosted.egressProxy', egressProxy.reveal()), resolveBySystem);
  const { certificates, http } = observedClient({ ...policy, egress, clock, resolve });
  return {
    reach: 'workspace',
    http,
    dial: createDial({ ...policy, egress, clock, resolve }),
    sender: { hostname: new URL(externalUrl).hostname, isProcess: false, mostLogFolders },
    certificateEnd: origin => certificates.get(origin),
    async close() {
      await http.close();
      await egress?.close();
    },
  };
}

function observedClient(options: Parameters<typeof createHttpClient>[0]) {
  const certificates = createLru<string, number>(MOST_CERTIFICATES);
  const http = createHttpClient({
    ...options,
    onCertificate: (origin, notAfter) => void certificates.set(origin, notAfter),
  });
  return { certificates, http };
}
