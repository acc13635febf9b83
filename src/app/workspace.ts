import { join } from 'node:path';
import type { ServedWorkspace } from '../api/served-workspace.ts';
import { createSoleWorkspaceLimits, createWorkspaceLimits } from '../auth/limits/workspace-limits.ts';
import type { Authenticate } from '../auth/sessions/authenticate.ts';
import { WHOLE_EVENT_FIELDS } from '../conditions/index.ts';
import type { Configuration } from '../config/configuration.ts';
import type { Quotas } from '../config/quotas.ts';
import { previewMessage } from '../delivery/recorded-http.ts';
import { createTestSend } from '../delivery/test-send.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Components } from '../pipelines/components/component.ts';
import type { WorkspaceContext } from '../resources/context.ts';
import type { ExpirySource } from './expiries.ts';
import { leaderUrl, NO_COMPONENTS, NO_MINUTES, NOT_LED, notLeading } from './leader/follower.ts';
import { type Leader, startLeader } from './leader/leader.ts';
import {
  createLeaderElection,
  type LeaderElection,
  type LeaderTask,
  type LeaderTerm,
} from './leader/lease.ts';
import type { Meters } from './meters.ts';
import type { InstallationOutgoing, WorkspaceOutgoing } from './outgoing.ts';
import { createTeardown, type Teardown } from './teardown.ts';
import type { DocumentConfiguration, FileConfiguration, SharedServices } from './workspace-configuration.ts';

/** Its configuration is active. One that is a document of the store has no way out but its own. */
type Confined =
  | { readonly workspaceConfiguration: FileConfiguration; readonly outgoing: InstallationOutgoing }
  | { readonly workspaceConfiguration: DocumentConfiguration; readonly outgoing: WorkspaceOutgoing };

export type WorkspaceOptions = Confined & {
  /** Id of this process. */
  readonly node: string;
  readonly meters: Meters;
  /** Expiries that concern the workspace. */
  readonly expiries: ExpirySource;
  readonly authenticate: Authenticate;
  /** Undefined where nothing bounds the workspace. */
  readonly quotas?: Quotas;
  /** The same in every workspace of the installation. */
  readonly common: Pick<WorkspaceContext, 'users' | 'keys'>;
};

/** Its engine runs here or in another process, and the API can serve it. */
export interface RunningWorkspace {
  readonly served: ServedWorkspace;
  /** Applies changes of the configuration and of secrets from now on, until it is stopped. */
  follow(): void;
  /** Stops in the reverse order of the start, the configuration it was given included. */
  stop(): Promise<void>;
}

/** Starts what the workspace's configuration asks for; when that fails, what has started is stopped. */
export async function startWorkspace(
  shared: SharedServices,
  options: WorkspaceOptions,
): Promise<RunningWorkspace> {
  const workspace = new ElectingWorkspace({ ...options, shared });
  await workspace.start();
  return workspace;
}

/** The name of the lease of whichever process leads a workspace. */
export const leaderLeaseOf = (workspace: string): string => `engine:${workspace}`;

class ElectingWorkspace implements RunningWorkspace {
  readonly served: ServedWorkspace;
  readonly #options: WorkspaceOptions & { readonly shared: SharedServices };
  readonly #teardown: Teardown;
  readonly #election: LeaderElection;
  readonly #stopTests = new AbortController();
  /** Undefined while another process leads. */
  #leader: Leader | undefined;

  constructor(options: WorkspaceOptions & { readonly shared: SharedServices }) {
    const { shared, node, authenticate, meters, workspaceConfiguration, quotas } = options;
    const { storage, isShared, clock, logger } = shared;
    const lease = leaderLeaseOf(workspaceConfiguration.workspace);
    this.#options = options;
    this.#teardown = createTeardown(logger);
    this.#election = createLeaderElection({
      ...{ storage, name: lease, owner: node, isAlone: !isShared, clock, logger },
      lead: term => this.#lead(term),
    });
    const isLeading = (): boolean => this.#election.isLeading();
    this.served = {
      context: this.#context(),
      authenticate,
      limits:
        quotas === undefined
          ? createSoleWorkspaceLimits()
          : createWorkspaceLimits({ quotas, clock, logger, onRefused: meters.quotaRefused }),
      ingestRefused: meters.ingestRefused,
      monitor: () => this.#leaderOrThrow().monitor,
      receiveEvents: async (pipeline, events) => this.#leaderOrThrow().receive(pipeline, events),
      leaderUrl: leaderUrl({ storage, lease, node, isLeading, clock }),
    };
  }

  async start(): Promise<void> {
    const { ingestTokens } = this.#options.workspaceConfiguration;
    this.#teardown.add('ingest tokens', () => ingestTokens.stop());
    this.#teardown.add('leader election', () => this.#election.stop());
    this.#teardown.add('test sends', () => this.#stopTests.abort());
    try {
      await this.#election.start();
    } catch (error) {
      await this.#teardown.run();
      throw error;
    }
  }

  follow(): void {
    const { configuration, secrets, ingestTokens } = this.#options.workspaceConfiguration;
    const { storage, logger } = this.#options.shared;
    this.#teardown.add(
      'reload',
      configuration.subscribe(now => this.#leader?.apply(now)),
    );
    const cannotReread = (error: unknown): void =>
      logger.warn(
        { reason: reasonOf(error) },
        'secrets or tokens that another process has changed cannot be read',
      );
    this.#teardown.add(
      'changes',
      storage.subscribe(({ resource }) => {
        if (resource === 'secrets') secrets.refresh().catch(cannotReread);
        if (resource === 'ingest-tokens') ingestTokens.reload().catch(cannotReread);
      }),
    );
    this.#teardown.add(
      'secrets',
      secrets.subscribe(name => void configuration.secretsChanged(name)),
    );
    configuration.watch();
  }

  stop(): Promise<void> {
    return this.#teardown.run();
  }

  /** Throws `unavailable`. */
  #leaderOrThrow(): Leader {
    if (this.#leader === undefined) throw notLeading();
    return this.#leader;
  }

  async #lead(term: LeaderTerm): Promise<LeaderTask> {
    const { shared, workspaceConfiguration, outgoing, meters, quotas, expiries } = this.#options;
    const { workspace, folder, secrets, ingestTokens, versions, configuration } = workspaceConfiguration;
    await Promise.all([secrets.refresh(), ingestTokens.reload()]);
    const active = (): Configuration => configuration.get();
    const leader = await startLeader(
      {
        ...shared,
        ...{ workspace, outgoing, meters, quotas, configFolder: folder, configuration: active },
        secretOf: name => secrets.get(name),
        expiries: () => expiries(active()),
      },
      term,
    );
    // Settings that came while it started count as well.
    leader.apply(active());
    this.#leader = leader;
    await versions.lead();
    return {
      stop: async inTime => {
        this.#leader = undefined;
        versions.follow();
        await leader.stop(inTime);
      },
    };
  }

  #context(): WorkspaceContext {
    const { common, shared, workspaceConfiguration } = this.#options;
    const { workspace, audit, secrets, ingestTokens, configuration } = workspaceConfiguration;
    const { storage, clock, ids } = shared;
    const components = (): Components => this.#leader?.monitor.components ?? NO_COMPONENTS;
    const minutes = (): WorkspaceContext['minutes'] => this.#leader?.minutes ?? NO_MINUTES;
    return {
      ...common,
      ...{ secrets, ingestTokens, audit, clock },
      isMachineShared: this.#options.quotas !== undefined,
      processes: async () =>
        (await storage.nodes.live()).map(({ started_at, ...one }) => ({ ...one, startedAt: started_at })),
      newId: () => ids.next(),
      stores: storage.in(workspace),
      get components() {
        return components();
      },
      get minutes() {
        return minutes();
      },
      configuration: configuration.get,
      configurationStatus: configuration.status,
      configurationTexts: configuration.texts,
      hideAddresses: configuration.hideAddresses,
      save: configuration.save,
      dryRun: configuration.dryRun,
      planConfiguration: configuration.plan,
      checkTexts: configuration.check,
      backtest: request => shared.backtests.run({ ...request, workspace }),
      testSend: this.#testSend(),
      previewMessage: this.#previewMessage(),
      explainer: {
        explain: async (...asked) => this.#leaderOrThrow().explainer.explain(...asked),
        explainEvent: async event => this.#leaderOrThrow().explainer.explainEvent(event),
      },
      refreshSilences: async () => this.#leader?.refreshSilences(),
      refreshAcknowledgement: async incident => this.#leader?.refreshAcknowledgement(incident),
      warningOf: target => this.#leader?.warningOf(target),
      targetIsWell: target => this.#leader?.markWell(target),
      hold: (target, row) => (this.#leader === undefined ? NOT_LED : this.#leader.hold(target, row)),
      keptSettings: {
        list: async () => this.#leaderOrThrow().keptSettings.list(),
        remove: async id => this.#leaderOrThrow().keptSettings.remove(id),
      },
      removeComponent: async component => this.#leaderOrThrow().removeComponent(component),
      evaluationAgeMs: () => this.#leader?.incompleteMs(),
      evaluationCosts: () => this.#leader?.evaluationCosts(),
      requeue: async (filter, now) => this.#leaderOrThrow().requeue(filter, now),
      transaction: work => storage.transaction(tx => work(tx.in(workspace))),
      subscribe: listener =>
        storage.subscribe(change => {
          if (change.workspace === workspace || change.workspace === '*') listener(change);
        }),
    };
  }

  #previewMessage(): WorkspaceContext['previewMessage'] {
    const { shared, workspaceConfiguration, outgoing } = this.#options;
    const { clock, ids } = shared;
    return (target, event) =>
      previewMessage(target, event, {
        ...{ clock, deliveryId: ids.next(), knownFields: WHOLE_EVENT_FIELDS, sender: outgoing.sender },
        instanceName: workspaceConfiguration.configuration.get().settings.instance.name,
      });
  }

  #testSend(): WorkspaceContext['testSend'] {
    const { shared, workspaceConfiguration, outgoing } = this.#options;
    const { http, dial, sender } = outgoing;
    const { secrets, configuration } = workspaceConfiguration;
    const { dataFolder, clock, ids, logger } = shared;
    return createTestSend({
      ...{ http, dial, sender, clock, ids },
      secretOf: name => secrets.get(name),
      logger: logger.child({ component: 'test-send' }),
      logFolder: join(dataFolder, 'log'),
      knownFields: WHOLE_EVENT_FIELDS,
      signal: this.#stopTests.signal,
      instanceName: () => configuration.get().settings.instance.name,
    });
  }
}
