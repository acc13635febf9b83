import type { ServerOptions } from '../../api/server.ts';
import type { Audit } from '../../auth/audit.ts';
import type { GeneratedPassword } from '../../auth/users/first-admin.ts';
import type { Settings } from '../../config/settings.ts';
import type { ProcessMetrics } from '../../lib/metrics.ts';
import type { Secret } from '../../lib/secret.ts';
import type { Teardown } from '../teardown.ts';
import type { Tls } from '../tls.ts';
import type { WorkspaceOptions } from '../workspace.ts';
import type { SharedServices } from '../workspace-configuration.ts';

/** What a deployment is made of: who may come in, and which workspaces there are. */
export interface DeploymentOptions extends Pick<WorkspaceOptions, 'http' | 'dial' | 'node' | 'facts'> {
  readonly shared: SharedServices;
  /** The certificate of this process; undefined while it speaks http. */
  readonly tls: Pick<Tls, 'create'> | undefined;
  /** Of the installation. */
  readonly audit: Audit;
  readonly metrics: ProcessMetrics;
  /** Of the installation; asked each time. */
  readonly settings: () => Settings;
  /** The first admin's, where one is given. */
  readonly firstPassword: Secret | undefined;
  /** Where each part says how it is stopped. */
  readonly teardown: Teardown;
}

/** What runs, and how the API serves it. */
export interface Serving
  extends Pick<
    ServerOptions,
    'identity' | 'signInOf' | 'tenantOf' | 'isWorkspaceHost' | 'isHosted' | 'isMisdirected'
  > {
  /** Throws when a change may not put these settings in the place of those in force. */
  assertMayBecome(next: Settings, now: Settings): Promise<void>;
  /** The first admin's password, when this start had to invent one. */
  readonly generatedPassword: GeneratedPassword | undefined;
  /** From now on changes take effect. */
  follow(): void;
  /** Called once the API listens on that port; starts what else has a port. */
  listening?(port: number): Promise<void>;
  /** Looks at settings that have changed. */
  checkSettings(): Promise<void>;
}
