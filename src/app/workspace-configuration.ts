import { type Audit, createAudit } from '../auth/audit.ts';
import { type IngestTokens, openIngestTokens } from '../auth/tokens/ingest-tokens.ts';
import type { CheckThread } from '../config/check-thread.ts';
import {
  type ConfigurationHolder,
  createConfigurationHolder,
  type FileEdit,
  type HolderOptions,
} from '../config/holder.ts';
import type { Sources } from '../config/read/configuration.ts';
import type { WorkspaceRestrictions } from '../config/restrictions.ts';
import { openSecretStore, type SecretStore } from '../config/secrets/store.ts';
import { createSealedDocumentStore, documentSource } from '../config/source/document.ts';
import { filesSource } from '../config/source/files.ts';
import { createVersionRecorder, type VersionRecorder } from '../config/versions.ts';
import type { Clock } from '../lib/clock.ts';
import type { MonotonicIds } from '../lib/ids.ts';
import type { KeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import type { ObservedClock } from '../lib/observed-clock.ts';
import type { Secret } from '../lib/secret.ts';
import type { Backtests } from '../notifications/backtest/backtests.ts';
import type { Storage } from '../storage/storage.ts';

/** Shared by all workspaces of a process. */
export interface SharedServices {
  readonly storage: Storage;
  /** True when other processes may use the same store. */
  readonly isShared: boolean;
  readonly thread: CheckThread;
  readonly backtests: Backtests;
  readonly keyRing: KeyRing;
  /** For the digests of issued secrets. */
  readonly pepper: Secret;
  /** An absolute path. */
  readonly dataFolder: string;
  readonly clock: Clock;
  /** `clock` without the time in which this process did not run. */
  readonly observedClock: ObservedClock;
  readonly ids: MonotonicIds;
  readonly random: () => number;
  readonly logger: Logger;
}

/** The configuration of a workspace with its secrets, versions, ingest tokens and audit. */
interface WorkspaceConfiguration {
  readonly workspace: string;
  readonly audit: Audit;
  readonly secrets: SecretStore;
  readonly ingestTokens: IngestTokens;
  readonly versions: LeaderVersions;
  /** Not loaded yet. */
  readonly configuration: ConfigurationHolder;
}

/** Files of the operator. */
export interface FileConfiguration extends WorkspaceConfiguration {
  /** Paths in its settings are relative to it. */
  readonly folder: string;
}

/** A document in the store, which may name no file. */
export interface DocumentConfiguration extends WorkspaceConfiguration {
  readonly folder: undefined;
}

/** Opens the configuration in a folder. Throws `internal` when the key ring lacks the key of a secret. */
export async function openFileConfiguration(
  shared: SharedServices,
  {
    workspace,
    sources,
    assertMayBecome,
  }: {
    readonly workspace: string;
    readonly sources: Omit<Sources, 'secretOf'>;
    readonly assertMayBecome: NonNullable<HolderOptions['assertMayBecome']>;
  },
): Promise<FileConfiguration> {
  const { thread, clock, logger } = shared;
  const parts = await openConfigurationParts(shared, workspace);
  const { audit, secrets, versions } = parts;
  const configuration = createConfigurationHolder({
    source: filesSource({ ...sources, secretOf: secrets.get, clock }),
    ...{ secrets, versions, assertMayBecome, thread, clock, logger },
    onFileEdit: edit => auditFileEdit(audit, edit),
  });
  return { ...parts, folder: sources.folder, configuration };
}

/** Opens the configuration that the store holds for a workspace. Throws as `openFileConfiguration` does. */
export async function openDocumentConfiguration(
  shared: SharedServices,
  { workspace, tenant }: { readonly workspace: string; readonly tenant: WorkspaceRestrictions },
): Promise<DocumentConfiguration> {
  const { storage, thread, clock, logger } = shared;
  const parts = await openConfigurationParts(shared, workspace);
  const { secrets, versions } = parts;
  const documents = createSealedDocumentStore({ ...shared, workspace });
  const configuration = createConfigurationHolder({
    source: documentSource({
      ...{ folder: workspace, environment: {}, flags: {}, restrictions: tenant, secretOf: secrets.get },
      ...{ documents, first: await documents.read(), clock, logger },
      subscribe: listener =>
        storage.subscribe(fact => {
          const isOurs = fact.workspace === workspace || fact.workspace === '*';
          if (isOurs && fact.resource === 'documents') listener();
        }),
    }),
    ...{ secrets, versions, thread, clock, logger },
  });
  return { ...parts, folder: undefined, configuration };
}

async function openConfigurationParts(
  { storage, keyRing, pepper, clock, ids, logger }: SharedServices,
  workspace: string,
): Promise<Omit<WorkspaceConfiguration, 'configuration'>> {
  return {
    workspace,
    audit: createAudit({ storage, workspace, clock, ids, logger }),
    secrets: await openSecretStore({ storage, workspace, keyRing, clock, logger }),
    ingestTokens: await openIngestTokens({ storage, workspace, pepper, clock, ids, logger }),
    versions: leaderVersions(createVersionRecorder({ storage, workspace, ids, clock, logger })),
  };
}

/** Audits which files were edited and whether they were accepted, never their texts. The author is unknown. */
function auditFileEdit(audit: Pick<Audit, 'record' | 'refused'>, { files, problems }: FileEdit): void {
  const entry = { actor: 'file', action: 'files.edit', target: files.join(', '), address: 'local' };
  if (problems === 0) void audit.record({ ...entry, reason: 'accepted' });
  else audit.refused({ ...entry, reason: `${problems} ${problems === 1 ? 'problem' : 'problems'}` });
}

type Effect = Parameters<VersionRecorder['record']>[0];

/** Versions that only the leading process writes, as its configuration is the active one. */
export interface LeaderVersions extends VersionRecorder {
  /** Writes the last change that came while another process led, and from now on every change. */
  lead(): Promise<void>;
  /** From now on only remembers the last change. */
  follow(): void;
}

/**
 * Processes that share a folder all see a file that one of them has written, and only that one knows the author.
 */
export function leaderVersions(versions: VersionRecorder): LeaderVersions {
  let isLeading = false;
  let last: Effect | undefined;
  return {
    async record(effect) {
      if (isLeading) await versions.record(effect);
      else last = effect;
    },
    async lead() {
      isLeading = true;
      const kept = last;
      last = undefined;
      if (kept !== undefined) await versions.record(kept);
    },
    follow() {
      isLeading = false;
    },
  };
}
