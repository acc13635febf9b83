import { effectiveAssignments, roleInWorkspace } from '../auth/organizations/roles.ts';
import { parseLabel, type TenantName } from '../auth/tenant-name.ts';
import type { KeyRotation } from '../auth/tokens/key-rotation.ts';
import type { Expiry } from '../conditions/expiration.ts';
import { encryptedOrigin, encryptedOrigins } from '../config/check/addresses.ts';
import type { Configuration } from '../config/configuration.ts';
import type { Clock } from '../lib/clock.ts';
import { createCountedLog } from '../lib/counted-log.ts';
import type { Logger } from '../lib/logger.ts';
import { createRepeat } from '../lib/repeat.ts';
import type { Storage } from '../storage/storage.ts';
import type { CredentialRow } from '../storage/stores/credentials.ts';
import type { Tls } from './tls.ts';

/** Asked at each evaluation, so it answers from memory. The configuration is that of the workspace. */
export type ExpirySource = (configuration: CertificateConfiguration) => readonly Expiry[];

export type CertificateConfiguration = Pick<Configuration, 'settings' | 'targets'>;

/** The certificate that this process shows its callers. */
export const serverCertificate = (tls: Pick<Tls, 'notAfter'> | undefined): readonly Expiry[] =>
  tls === undefined ? [] : [{ kind: 'certificate', key: 'server', expiresAt: tls.notAfter() }];

/** An origin that shows a certificate, and the key of its expiry. */
interface ServedCertificate {
  readonly key: string;
  readonly origin: string;
}

const certificatesByConfiguration = new WeakMap<CertificateConfiguration, readonly ServedCertificate[]>();

/** Certificates that pipelines and targets have shown since this process connected to them; `seen` is by origin. */
export function seenCertificates(
  configuration: CertificateConfiguration,
  seen: (origin: string) => number | undefined,
): readonly Expiry[] {
  const shown = certificatesByConfiguration.get(configuration) ?? servedCertificates(configuration);
  certificatesByConfiguration.set(configuration, shown);
  return shown.map(({ key, origin }) => ({ kind: 'certificate', key, expiresAt: seen(origin) }));
}

const servedCertificates = ({ settings, targets }: CertificateConfiguration): ServedCertificate[] => [
  ...settings.pipelines.flatMap(pipeline => {
    const origin = pipeline.push ? undefined : encryptedOrigin(pipeline.url);
    return origin === undefined ? [] : [{ key: `pipeline/${pipeline.id}`, origin }];
  }),
  ...targets.flatMap(target => {
    const [origin] = encryptedOrigins(target.settings);
    return origin === undefined ? [] : [{ key: `target/${target.settings.id}`, origin }];
  }),
];

/** A running process rotates the key within this time after it is due. */
const ROTATED_WITHIN_MS = 3_600_000;

/** The key rotates by itself, so the alarm is that it did not. */
export function signingKey(keys: Pick<KeyRotation, 'rotatesAt'>): readonly Expiry[] {
  const dueAt = keys.rotatesAt();
  const expiresAt = dueAt && dueAt + ROTATED_WITHIN_MS;
  return [{ kind: 'credential', key: 'signing-key', expiresAt, autoRenews: true }];
}

export interface CredentialExpiryOptions {
  readonly storage: Pick<Storage, 'credentials' | 'organizations'>;
  /** Label of the workspace. */
  readonly workspace: string;
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly logger: Logger;
}

/** The ends of credentials with a role in a workspace. */
export interface CredentialExpiry {
  /** As last read from the store, which may be half a minute ago. */
  expiries(): readonly Expiry[];
  /** Reads no more, and waits for the reading under way. */
  readonly stop: () => Promise<void>;
}

const CREDENTIALS_EVERY_MS = 30_000;
/** As many as an organization may have. */
const MOST_CREDENTIALS = 1000;
/** As many ids as `CredentialStore.roles` takes. */
const MOST_IDS = 500;

/** Throws what the store throws: an engine without any would treat all of them as removed. */
export async function openCredentialExpiry(options: CredentialExpiryOptions): Promise<CredentialExpiry> {
  const { storage, clock } = options;
  const tenant = parseLabel(options.workspace);
  const faults = createCountedLog(options.logger.child({ component: 'expiries' }), {
    fields: { workspace: options.workspace },
    message: 'when credentials expire cannot be read; what was read last counts',
    over: 'when credentials expire can be read again',
  });
  let latest = await read();

  async function read(): Promise<readonly Expiry[]> {
    const rows = tenant === undefined ? [] : await expiringIn(tenant, storage);
    return rows.map(({ name, expires_at }) => ({
      kind: 'credential',
      key: `api-credential/${name}`,
      expiresAt: expires_at ?? undefined,
    }));
  }

  const reading = createRepeat({
    clock,
    interval: CREDENTIALS_EVERY_MS,
    work: async () => {
      latest = await read();
    },
    faults,
  });
  reading.start();
  return { expiries: () => latest, stop: () => reading.stop() };
}

/** Credentials that expire and have a role in the workspace, by the rules that accept tokens. */
async function expiringIn(
  { organization: id, workspace }: TenantName,
  { credentials, organizations }: CredentialExpiryOptions['storage'],
): Promise<readonly CredentialRow[]> {
  const rows = await credentials.expiring(id, MOST_CREDENTIALS);
  if (rows.length === 0) return [];
  const organization = await organizations.get(id);
  if (organization === undefined) return [];
  const ids = rows.filter(row => row.organization_role === 'user').map(row => row.client_id);
  const roles = [
    ...(await credentials.roles(ids.slice(0, MOST_IDS))),
    ...(await credentials.roles(ids.slice(MOST_IDS))),
  ];
  return rows.filter(({ client_id, organization_role: role }) => {
    const standing = { role, roles: roles.filter(one => one.client_id === client_id) };
    return roleInWorkspace(effectiveAssignments(organization, standing), workspace) !== undefined;
  });
}
