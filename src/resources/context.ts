import type { Actor } from '../auth/actor.ts';
import type { Audit } from '../auth/audit.ts';
import type { IngestTokens } from '../auth/tokens/ingest-tokens.ts';
import type { KeyRotation } from '../auth/tokens/key-rotation.ts';
import type { Users } from '../auth/users/users.ts';
import type {
  ConfigChange,
  ConfigEdit,
  PlannedConfiguration,
  WantedConfiguration,
} from '../config/change.ts';
import type {
  CheckFindings,
  Configuration,
  ConfigurationStatus,
  FileTexts,
  HidingJob,
} from '../config/configuration.ts';
import type { SecretStore } from '../config/secrets/store.ts';
import type { QueueHold } from '../delivery/limits/limits.ts';
import type { previewMessage } from '../delivery/recorded-http.ts';
import type { TestSend } from '../delivery/test-send.ts';
import type { HeadgateEvent } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import { notFound } from '../lib/errors.ts';
import type { BacktestFindings } from '../notifications/backtest/backtest.ts';
import type { BacktestRequest } from '../notifications/backtest/backtests.ts';
import type { Engine } from '../notifications/engine.ts';
import type { Component, Components } from '../pipelines/components/component.ts';
import type { MinuteRecorder } from '../pipelines/history/recorder.ts';
import type { Storage, WorkspaceStorage, WorkspaceTransaction } from '../storage/storage.ts';
import type { DeliveryRow, RequeueFilter } from '../storage/stores/deliveries.ts';
import type { Target } from '../targets/target.ts';

export interface CallOrigin {
  /** As the server sees it. */
  readonly address: string;
  readonly requestId: string;
}

/** A process of the installation that runs. */
export interface RunningProcess {
  readonly id: string;
  readonly version: string;
  /** Epoch ms. */
  readonly startedAt: number;
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
  /** Texts of a configuration with the hosts only of addresses in some files. Rejects with `unavailable` when many wait. */
  readonly hideAddresses: (job: HidingJob) => Promise<readonly FileTexts[]>;
  /** Makes a change and answers the active configuration with it. */
  readonly save: (change: ConfigChange) => Promise<Configuration>;
  /** The configuration that changes would lead to; nothing is written. */
  readonly dryRun: (edits: (now: Configuration) => readonly ConfigEdit[]) => Promise<Configuration>;
  /** What would change if the configuration were what texts say; nothing is written. */
  readonly planConfiguration: (wanted: WantedConfiguration) => Promise<PlannedConfiguration>;
  /** Sends a test to a target as deliveries are sent. Throws `rate-limited` when too many are asked for. */
  readonly testSend: TestSend;
  /** The message that a target would send of an event, without secrets, and the expression of it that failed; nothing is sent. */
  readonly previewMessage: (target: Target, event: HeadgateEvent) => ReturnType<typeof previewMessage>;
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
  /** Settings of targets that are kept for the ends of alarms. Reject with `unavailable` in a process that does not lead. */
  readonly keptSettings: KeptSettingsAccess;
  /** What the active notifications do at this moment. Rejects with `unavailable` in a process that does not lead. */
  readonly explainer: Engine['explainer'];
  /** Resolves when this process goes by the silences of the store. */
  readonly refreshSilences: () => Promise<void>;
  /** Resolves when this process goes by what the store knows of the acknowledgement of an incident. */
  readonly refreshAcknowledgement: (incident: string) => Promise<void>;
  /** The expression of a target that failed in its last attempt, as far as this process sends; undefined when none did. */
  readonly warningOf: (target: string) => string | undefined;
  /** A test has arrived at the target: what waits for it and what was given up goes at once. */
  readonly targetIsWell: (target: string) => void;
  /**
   * What keeps a delivery in the queue of its target, or without one whatever is due for the target; undefined when
   * nothing does. A process that does not lead is asked only while none does.
   */
  readonly hold: (target: string, row?: DeliveryRow) => QueueHold | undefined;
  /** For how long, in milliseconds, not every notification has been evaluated; undefined in a process that does not lead. */
  readonly evaluationAgeMs: () => number | undefined;
  /**
   * Milliseconds that evaluating each notification takes, by its id, and for how long not every one has been evaluated while
   * some wait for the quota. Undefined where nothing bounds it, and in a process that does not lead.
   */
  readonly evaluationCosts: () =>
    | { readonly byNotification: ReadonlyMap<string, number>; readonly lateMs: number | undefined }
    | undefined;
  /** True where the machine serves others as well: what it is and how busy is none of theirs. */
  readonly isMachineShared: boolean;
  /** Those that are announced in the store, the longest running first. */
  readonly processes: () => Promise<readonly RunningProcess[]>;
  /** Plays what was recorded through a notification, away from this thread; rejects as `Backtests.run` says. */
  readonly backtest: (request: Omit<BacktestRequest, 'workspace'>) => Promise<BacktestFindings>;
  readonly clock: Pick<Clock, 'now'>;
  readonly newId: () => string;
  /** Calls back for each change that is committed from now on, here and in other processes. Returns the call that ends it. */
  readonly subscribe: Storage['subscribe'];
}

/** Settings of a target that are kept for the ends of alarms, without any of their secrets. */
export interface KeptSettings {
  readonly id: string;
  readonly target: string;
  readonly type: string;
  readonly reason: 'changed' | 'removed';
  /** Epoch ms. */
  readonly replacedAt: number;
  readonly expiresAt: number;
  /** Open incidents whose alarms may be open by them. */
  readonly incidents: number;
}

/** What the leading process keeps. */
export interface KeptSettingsAccess {
  /** The oldest first. */
  list(): Promise<readonly KeptSettings[]>;
  /** Removes them for good; rejects with `not-found`. What is open by them must be closed by hand. */
  remove(id: string): Promise<KeptSettings>;
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
  /** Its id where nobody named it. */
  readonly name: string;
  readonly description: string;
  /** Ids of the pipelines in it. */
  readonly pipelines: readonly string[];
}

export const DEFAULT_GROUP = 'default';

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
      {
        id,
        name: id,
        description: '',
        pipelines: pipelines.filter(({ group }) => group === id).map(pipeline => pipeline.id),
      },
    ]),
  );
}

/** Throws `not-found` unless something is in the group or it was made by itself. */
export async function assertGroupExists(
  { configuration, stores }: Pick<WorkspaceContext, 'configuration' | 'stores'>,
  id: string,
): Promise<void> {
  if (groupsOf(configuration()).has(id) || (await stores.components.group(id)) !== undefined) return;
  throw notFound('group', id);
}
