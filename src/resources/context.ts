import type { Actor } from '../auth/actor.ts';
import type { Audit } from '../auth/audit.ts';
import type { IngestTokens } from '../auth/tokens/ingest-tokens.ts';
import type { KeyRotation } from '../auth/tokens/key-rotation.ts';
import type { Users } from '../auth/users/users.ts';
import type { ConfigChange, ConfigEdit } from '../config/change.ts';
import type {
  CheckFindings,
  Configuration,
  ConfigurationStatus,
  FileTexts,
} from '../config/configuration.ts';
import type { SecretStore } from '../config/secrets/store.ts';
import type { TestSend } from '../delivery/test-send.ts';
import type { Clock } from '../lib/clock.ts';
import type { Component, Components } from '../pipelines/components/component.ts';
import type { MinuteRecorder } from '../pipelines/history/recorder.ts';
import type { WorkspaceStorage, WorkspaceTransaction } from '../storage/storage.ts';
import type { RequeueFilter } from '../storage/stores/deliveries.ts';
import type { CommittedChange } from '../storage/types.ts';

export interface CallOrigin {
  /** As the server sees it. */
  readonly address: string;
  readonly requestId: string;
}

/** One workspace of the running product, which the verbs work on. */
export interface WorkspaceContext {
  readonly stores: WorkspaceStorage;
  readonly components: Components;
  /** Minutes of components that were recorded. */
  readonly minutes: Pick<MinuteRecorder, 'last' | 'recordedCount'>;
  readonly configuration: () => Configuration;
  readonly configurationStatus: () => ConfigurationStatus;
  /** The texts of the configuration that was read last, secrets masked. */
  readonly configurationTexts: () => FileTexts;
  /** Makes a change and answers the active configuration with it. */
  readonly save: (change: ConfigChange) => Promise<Configuration>;
  /** The configuration that changes would lead to; nothing is written. */
  readonly dryRun: (edits: (now: Configuration) => readonly ConfigEdit[]) => Promise<Configuration>;
  /** Sends a test to a target as deliveries are sent. Throws `rate-limited` when too many are asked for. */
  readonly testSend: TestSend;
  /** Checks the configuration as it would be with these texts on disk. */
  readonly checkTexts: (texts: FileTexts) => Promise<CheckFindings>;
  readonly secrets: SecretStore;
  readonly ingestTokens: IngestTokens;
  readonly users: Users;
  readonly keys: Pick<KeyRotation, 'list' | 'rotate'>;
  readonly audit: Pick<Audit, 'record' | 'refused'>;
  readonly transaction: <Result>(work: (tx: WorkspaceTransaction) => Promise<Result>) => Promise<Result>;
  /**
   * Puts deliveries back into the queue of the process that sends. `overtaken` counts those that were left alone because
   * their target has received a later event of the incident. Rejects with `unavailable` in any other process.
   */
  readonly requeue: (
    filter: RequeueFilter,
    now: number,
  ) => Promise<{ readonly requeued: number; readonly overtaken: number }>;
  /**
   * Forgets an input or output that is gone; resolves when its incidents are closed. Rejects with `conflict` when it may be
   * there, with `unavailable` in a process that does not lead.
   */
  readonly removeComponent: (component: Component) => Promise<void>;
  /** Why deliveries of a target that are due wait, as far as this process sends; undefined when they do not wait. */
  readonly heldBecause: (target: string) => string | undefined;
  /** For how long, in milliseconds, not every notification has been evaluated; undefined in a process that does not lead. */
  readonly evaluationAgeMs: () => number | undefined;
  readonly clock: Pick<Clock, 'now'>;
  /** Calls back for each change that is committed from now on, here and in other processes. Returns the call that ends it. */
  readonly subscribe: (listener: (change: CommittedChange) => void) => () => void;
}

/** One call of a verb: its actor, and the workspace it is about. */
export interface Call {
  readonly actor: Actor;
  readonly context: WorkspaceContext;
  /** Where the call comes from. */
  readonly origin: CallOrigin;
  /** Counts a change or check that is allowed, before it is made. Throws `rate-limited`. */
  readonly countChange: () => void;
  /** The one group the call is about; undefined for all of them. */
  readonly group?: string | undefined;
}

/** A named set of pipelines. */
export interface PipelineGroup {
  readonly id: string;
  /** Ids of the pipelines in it. */
  readonly pipelines: readonly string[];
}

const DEFAULT_GROUP = 'default';

const cache = new WeakMap<Configuration, ReadonlyMap<string, PipelineGroup>>();

/** Every group that something of the configuration is in, the default one first. Kept, as every call may ask. */
export function groupsOf(configuration: Configuration): ReadonlyMap<string, PipelineGroup> {
  const found = cache.get(configuration) ?? readGroups(configuration);
  cache.set(configuration, found);
  return found;
}

function readGroups({ settings, inputs, outputs, notifications }: Configuration): Map<string, PipelineGroup> {
  const { pipelines } = settings;
  const named = [...pipelines, ...inputs, ...outputs, ...notifications].map(({ group }) => group);
  const ids = [...new Set(named)].filter(id => id !== DEFAULT_GROUP).sort();
  return new Map(
    [DEFAULT_GROUP, ...ids].map(id => [
      id,
      { id, pipelines: pipelines.filter(({ group }) => group === id).map(pipeline => pipeline.id) },
    ]),
  );
}
