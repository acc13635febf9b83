import type { ServerOptions } from '../../api/server.ts';
import type { Audit } from '../../auth/audit.ts';
import type { GeneratedPassword } from '../../auth/users/first-admin.ts';
import type { Settings } from '../../config/settings.ts';
import type { ProcessMetrics } from '../../lib/metrics.ts';
import type { Secret } from '../../lib/secret.ts';
import type { ExpirySource } from '../expiries.ts';
import type { InstallationOutgoing } from '../outgoing.ts';
import type { Teardown } from '../teardown.ts';
import type { Tls } from '../tls.ts';
import type { WorkspaceOptions } from '../workspace.ts';
import type { SharedServices } from '../workspace-configuration.ts';

export interface DeploymentOptions extends Pick<WorkspaceOptions, 'node'> {
  /** Of the installation: no workspace of a hosted one may have it. */
  readonly outgoing: InstallationOutgoing;
  /** Expiries that concern a workspace, with those of the certificates that its receivers have shown. */
  readonly expiriesBy: (certificateEnd: InstallationOutgoing['certificateEnd']) => ExpirySource;
  readonly shared: SharedServices;
  /** The certificate of this process; undefined while it speaks http. */
  readonly tls: Pick<Tls, 'create'> | undefined;
  readonly audit: Audit;
  readonly metrics: ProcessMetrics;
  /** Of the installation; read each time. */
  readonly settings: () => Settings;
  /** The first admin's password, where one is given. */
  readonly firstPassword: Secret | undefined;
  /** Takes the stop function of each part. */
  readonly teardown: Teardown;
}

/** A running deployment, as the API serves it. */
export interface Serving
  extends Pick<
    ServerOptions,
    'identity' | 'signInOf' | 'tenantOf' | 'isWorkspaceHost' | 'isHosted' | 'isMisdirected'
  > {
  /** Throws when these settings may not replace the active ones. */
  assertMayBecome(next: Settings, now: Settings): Promise<void>;
  /** The first admin's password, when this start generated it. */
  readonly generatedPassword: GeneratedPassword | undefined;
  /** Applies changes from now on. */
  follow(): void;
  /** Called once the API listens on that port; starts further servers. */
  listening?(port: number): Promise<void>;
  /** Checks changed settings. */
  checkSettings(): Promise<void>;
}
