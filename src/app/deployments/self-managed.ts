import { describeWorkspace } from '../../api/metrics/workspace.ts';
import { createIdentity, type Identity } from '../../auth/identity.ts';
import { signingKey } from '../expiries.ts';
import { createMeters, meteredIdentity } from '../meters.ts';
import { sweepSessions } from '../sweeps.ts';
import { startWorkspace } from '../workspace.ts';
import type { FileConfiguration } from '../workspace-configuration.ts';
import type { DeploymentOptions, Serving } from './deployment.ts';
import { identitySettings } from './identity.ts';

/** A deployment that its customer manages, with local users and one workspace. */
export async function startSelfManaged(
  options: DeploymentOptions & { readonly workspaceConfiguration: FileConfiguration },
): Promise<Serving> {
  const { shared, workspaceConfiguration, audit, metrics, settings, firstPassword, teardown } = options;
  const { storage, isShared, keyRing, dataFolder, clock, ids, logger } = shared;
  const { outgoing, node, expiriesBy } = options;
  const { http, certificateEnd } = outgoing;
  const identity: Identity = meteredIdentity(
    await createIdentity({
      ...{ audit, storage, keyRing, http, clock, ids, logger, isShared },
      settings: () => identitySettings(settings()),
    }),
    metrics,
  );
  teardown.add('identity', identity.stop);
  const generatedPassword = await identity.ensureFirstAdmin({ dataFolder, password: firstPassword });
  identity.keys.start();
  teardown.add('sessions', sweepSessions(identity.sessions, { clock, logger }));
  const workspace = await startWorkspace(shared, {
    ...{ workspaceConfiguration, node, outgoing, meters: createMeters(metrics, clock) },
    expiries: now => [...expiriesBy(certificateEnd)(now), ...signingKey(identity.keys)],
    authenticate: identity.authenticate,
    common: { users: identity.users, keys: identity.keys },
  });
  teardown.add('workspace', () => workspace.stop());
  describeWorkspace(metrics, workspace.served.context);
  return {
    identity,
    signInOf: () => identity,
    assertMayBecome: (next, now) => identity.localLogin.assertCanApply(next.auth, now.auth),
    tenantOf: () => workspace.served,
    isWorkspaceHost: () => false,
    isHosted: false,
    generatedPassword,
    follow: () => workspace.follow(),
    checkSettings: identity.checkSettings,
  };
}
