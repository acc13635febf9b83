import type { Migration } from 'kysely';
import { firstTables } from './20260101000000-first-tables.ts';
import { secretsAndVersions } from './20260102000000-secrets-and-versions.ts';
import { leasesAndNodes } from './20260103000000-leases-and-nodes.ts';
import { deliveriesByEvent } from './20260104000000-deliveries-by-event.ts';
import { retriesAndKeptTargets } from './20260105000000-retries-and-kept-targets.ts';
import { users } from './20260106000000-users.ts';
import { audit } from './20260107000000-audit.ts';
import { sessions } from './20260108000000-sessions.ts';
import { usersOfProviders } from './20260109000000-users-of-providers.ts';
import { keyStates } from './20260110000000-key-states.ts';
import { standIns } from './20260112000000-stand-ins.ts';
import { targetPauses } from './20260112010000-target-pauses.ts';
import { groups } from './20260113000000-groups.ts';
import { ingestTokens } from './20260114020000-ingest-tokens.ts';
import { minutes } from './20260114030000-minutes.ts';
import { tenants } from './20260115000000-tenants.ts';
import { documents } from './20260116000000-documents.ts';
import { heldBack } from './20260117000000-held-back.ts';
import { restsOfDeliveries } from './20260118000000-rests-of-deliveries.ts';

/** In the order they run, by the name of their file. Only ever appended to: a database remembers the names. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '20260101000000-first-tables': firstTables,
  '20260102000000-secrets-and-versions': secretsAndVersions,
  '20260103000000-leases-and-nodes': leasesAndNodes,
  '20260104000000-deliveries-by-event': deliveriesByEvent,
  '20260105000000-retries-and-kept-targets': retriesAndKeptTargets,
  '20260106000000-users': users,
  '20260107000000-audit': audit,
  '20260108000000-sessions': sessions,
  '20260109000000-users-of-providers': usersOfProviders,
  '20260110000000-key-states': keyStates,
  '20260112000000-stand-ins': standIns,
  '20260112010000-target-pauses': targetPauses,
  '20260113000000-groups': groups,
  '20260114020000-ingest-tokens': ingestTokens,
  '20260114030000-minutes': minutes,
  '20260115000000-tenants': tenants,
  '20260116000000-documents': documents,
  '20260117000000-held-back': heldBack,
  '20260118000000-rests-of-deliveries': restsOfDeliveries,
};
