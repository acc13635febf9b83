import { type Audit, createAudit } from '../auth/audit.ts';
import { type IngestTokens, openIngestTokens } from '../auth/tokens/ingest-tokens.ts';
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
import type { Secret } from '../lib/secret.ts';
import type { Storage } from '../storage/storage.ts';

/** What all workspaces of a process have in common. */
export interface SharedServices {
  readonly storage: Storage;
  /** Whether other processes have the same store. */
  readonly isShared: boolean;
  readonly keyRing: KeyRing;
  /** Of the digests of issued secrets. */
  readonly pepper: Secret;
  /** Absolute. */
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly ids: MonotonicIds;
  readonly random: () => number;
  readonly logger: Logger;
}

/** What a workspace says of itself: its configuration, the secrets in it, what became of them, who may push to it, and who did what. */
export interface WorkspaceConfiguration {
  readonly workspace: string;
  /** What paths in its settings are relative to; undefined where they may name no file. */
  readonly folder: string | undefined;
  readonly audit: Audit;
  readonly secrets: SecretStore;
  readonly ingestTokens: IngestTokens;
  readonly versions: LeaderVersions;
  /** Not loaded yet. */
  readonly configuration: ConfigurationHolder;
}

/** The configuration in a folder. Throws `internal` when the key ring lacks the key of a secret. */
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
): Promise<WorkspaceConfiguration> {
  const { clock, logger } = shared;
  const parts = await openConfigurationParts(shared, workspace);
  const { audit, secrets, versions } = parts;
  const configuration = createConfigurationHolder({
    source: filesSource({ ...sources, secretOf: secrets.get, clock }),
    ...{ secrets, versions, assertMayBecome, clock, logger },
    onFileEdit: edit => auditFileEdit(audit, edit),
  });
  return { ...parts, folder: sources.folder, configuration };
}

/** The configuration that the store holds for a workspace. Throws as `holdFiles` does. */
export async function openDocumentConfiguration(
  shared: SharedServices,
  { workspace, tenant }: { readonly workspace: string; readonly tenant: WorkspaceRestrictions },
): Promise<WorkspaceConfiguration> {
  const { storage, clock, logger } = shared;
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
    ...{ secrets, versions, clock, logger },
  });
  return { ...parts, folder: undefined, configuration };
}

async function openConfigurationParts(
  { storage, keyRing, pepper, clock, ids, logger }: SharedServices,
  workspace: string,
): Promise<Omit<WorkspaceConfiguration, 'configuration' | 'folder'>> {
  return {
    workspace,
    audit: createAudit({ storage, workspace, clock, ids, logger }),
    secrets: await openSecretStore({ storage, workspace, keyRing, clock, logger }),
    ingestTokens: await openIngestTokens({ storage, workspace, pepper, clock, ids, logger }),
    versions: leaderVersions(createVersionRecorder({ storage, workspace, ids, clock, logger })),
  };
}

/** Writes into the audit which files were edited and what became of it, never what they hold; nobody can tell by whom. */
function auditFileEdit(audit: Pick<Audit, 'record' | 'refused'>, { files, problems }: FileEdit): void {
  const entry = { actor: 'file', action: 'files.edit', target: files.join(', '), address: 'local' };
  if (problems === 0) void audit.record({ ...entry, reason: 'accepted' });
  else audit.refused({ ...entry, reason: `${problems} ${problems === 1 ? 'problem' : 'problems'}` });
}

type Effect = Parameters<VersionRecorder['record']>[0];

/** The versions of a configuration, which only the process that leads writes: what it has in force is in force. */
export interface LeaderVersions extends VersionRecorder {
  /** Writes what came last while another process led, and from now on whatever comes. */
  lead(): Promise<void>;
  /** From now on keeps only what comes last. */
  follow(): void;
}

/**
 * Processes that share a folder all see a file that one of them has written, and only the one that wrote it knows for
 * whom.
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
