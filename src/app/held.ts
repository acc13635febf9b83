import { type Audit, createAudit } from '../auth/audit.ts';
import { type IngestTokens, openIngestTokens } from '../auth/ingest-tokens.ts';
import {
  type ConfigurationHolder,
  type ConfigurationOptions,
  createConfiguration,
} from '../config/current.ts';
import type { Sources } from '../config/load.ts';
import { openSecretStore, type SecretStore } from '../config/secret-store.ts';
import { createStoredConfiguration } from '../config/stored-configuration.ts';
import type { TenantTerms } from '../config/tenant-terms.ts';
import { createVersions } from '../config/versions.ts';
import { documentKeeper } from '../config/workspace-document.ts';
import { auditFileEdit } from './file-edits.ts';
import { type LeadersVersions, leadersVersions } from './leaders-versions.ts';
import type { Shared } from './shared.ts';

/** What a workspace says of itself: its configuration, the secrets in it, what became of them, who may push to it, and who did what. */
export interface Held {
  readonly workspace: string;
  /** What paths in its settings are relative to; undefined where they may name no file. */
  readonly folder: string | undefined;
  readonly audit: Audit;
  readonly secrets: SecretStore;
  readonly ingestTokens: IngestTokens;
  readonly versions: LeadersVersions;
  /** Not loaded yet. */
  readonly configuration: ConfigurationHolder;
}

/** The configuration in a folder. Throws `internal` when the key ring lacks the key of a secret. */
export async function holdFiles(
  shared: Shared,
  {
    workspace,
    sources,
    assertMayBecome,
  }: {
    readonly workspace: string;
    readonly sources: Omit<Sources, 'secretOf'>;
    readonly assertMayBecome: NonNullable<ConfigurationOptions['assertMayBecome']>;
  },
): Promise<Held> {
  const { clock, logger } = shared;
  const around = await openAround(shared, workspace);
  const { audit, secrets, versions } = around;
  const configuration = createConfiguration({
    ...{ ...sources, secretOf: secrets.get, secrets, versions, assertMayBecome, clock, logger },
    edited: edit => auditFileEdit(audit, edit),
  });
  return { ...around, folder: sources.folder, configuration };
}

/** The configuration that the store holds for a workspace. Throws as `holdFiles` does. */
export async function holdDocument(
  shared: Shared,
  { workspace, tenant }: { readonly workspace: string; readonly tenant: TenantTerms },
): Promise<Held> {
  const { storage, clock, logger } = shared;
  const around = await openAround(shared, workspace);
  const { secrets, versions } = around;
  const documents = documentKeeper({ ...shared, workspace });
  const configuration = createStoredConfiguration({
    ...{ folder: workspace, environment: {}, flags: {}, tenant, secretOf: secrets.get, secrets, versions },
    ...{ documents, first: await documents.read(), clock, logger },
    subscribe: listener =>
      storage.subscribe(fact => {
        const isOurs = fact.workspace === workspace || fact.workspace === '*';
        if (isOurs && fact.noun === 'documents') listener();
      }),
  });
  return { ...around, folder: undefined, configuration };
}

async function openAround(
  { storage, keyRing, pepper, clock, ids, logger }: Shared,
  workspace: string,
): Promise<Omit<Held, 'configuration' | 'folder'>> {
  return {
    workspace,
    audit: createAudit({ storage, workspace, clock, ids, logger }),
    secrets: await openSecretStore({ storage, workspace, keyRing, clock, logger }),
    ingestTokens: await openIngestTokens({ storage, workspace, pepper, clock, ids, logger }),
    versions: leadersVersions(createVersions({ storage, workspace, ids, clock, logger })),
  };
}
