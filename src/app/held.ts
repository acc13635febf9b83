import { type Audit, createAudit } from '../auth/audit.ts';
import { type IngestTokens, openIngestTokens } from '../auth/ingest-tokens.ts';
import {
  type ConfigurationHolder,
  type ConfigurationOptions,
  createConfiguration,
} from '../config/current.ts';
import type { Sources } from '../config/load.ts';
import { openSecretStore, type SecretStore } from '../config/secret-store.ts';
import { createVersions } from '../config/versions.ts';
import { auditFileEdit } from './file-edits.ts';
import { type LeadersVersions, leadersVersions } from './leaders-versions.ts';
import type { Shared } from './shared.ts';

/** What a workspace says of itself: its configuration, the secrets in it, what became of them, who may push to it, and who did what. */
export interface Held {
  readonly workspace: string;
  readonly sources: Sources;
  readonly audit: Audit;
  readonly secrets: SecretStore;
  readonly ingestTokens: IngestTokens;
  readonly versions: LeadersVersions;
  /** Not loaded yet. */
  readonly configuration: ConfigurationHolder;
}

export interface HeldOptions {
  readonly workspace: string;
  readonly sources: Omit<Sources, 'secretOf'>;
  readonly assertMayBecome: ConfigurationOptions['assertMayBecome'];
}

/** Throws `internal` when the key ring lacks the key of a secret. */
export async function holdConfiguration(
  { storage, keyRing, pepper, clock, ids, logger }: Shared,
  { workspace, sources, assertMayBecome }: HeldOptions,
): Promise<Held> {
  const audit = createAudit({ storage, workspace, clock, ids, logger });
  const secrets = await openSecretStore({ storage, workspace, keyRing, clock, logger });
  const ingestTokens = await openIngestTokens({ storage, workspace, pepper, clock, ids, logger });
  const versions = leadersVersions(createVersions({ storage, workspace, ids, clock, logger }));
  const known = { ...sources, secretOf: secrets.get };
  const configuration = createConfiguration({
    ...known,
    secrets,
    versions,
    edited: edit => auditFileEdit(audit, edit),
    ...(assertMayBecome !== undefined && { assertMayBecome }),
    clock,
    logger,
  });
  return { workspace, sources: known, audit, secrets, ingestTokens, versions, configuration };
}
