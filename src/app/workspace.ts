import { join } from 'node:path';
import type { ServedWorkspace } from '../api/served-workspace.ts';
import type { Authenticate } from '../auth/sessions/authenticate.ts';
import { createTestSend } from '../delivery/test-send.ts';
import type { Dial } from '../lib/dial.ts';
import { reasonOf } from '../lib/errors.ts';
import type { HttpClient } from '../lib/http/client.ts';
import type { WorkspaceContext } from '../resources/context.ts';
import type { ExpirySource } from './expiry-facts.ts';
import { leaderUrl, NO_COMPONENTS, NO_MINUTES, notLeading } from './leader/follower.ts';
import { type Leader, type RunningQuotas, startLeader } from './leader/leader.ts';
import { createLeaderElection } from './leader/lease.ts';
import type { Meters } from './meters.ts';
import { createTeardown } from './teardown.ts';
import type { SharedServices, WorkspaceConfiguration } from './workspace-configuration.ts';

export interface WorkspaceOptions {
  /** Its configuration is in force. */
  readonly workspaceConfiguration: WorkspaceConfiguration;
  /** Id of this process. */
  readonly node: string;
  readonly http: HttpClient;
  readonly dial: Dial;
  readonly meters: Meters;
  /** What is known to expire and concerns the workspace. */
  readonly facts: ExpirySource;
  readonly authenticate: Authenticate;
  /** What bounds the workspace while it runs; undefined where nobody bounds it. */
  readonly quotas?: RunningQuotas;
  /** What verbs find in every workspace of the installation. */
  readonly common: Pick<WorkspaceContext, 'users' | 'keys'>;
}

/** A workspace that works: its engine runs here or in another process, and the API can serve it. */
export interface RunningWorkspace {
  readonly served: ServedWorkspace;
  /** Takes changes of the configuration and of secrets over from now on, until it is stopped. */
  follow(): void;
  /** Stops in the reverse order of the start, the configuration it was given included. */
  stop(): Promise<void>;
}

/** Starts what the workspace's configuration asks for; when that fails, what has started is stopped. */
export async function startWorkspace(
  shared: SharedServices,
  { workspaceConfiguration, node, http, dial, meters, facts, authenticate, quotas, common }: WorkspaceOptions,
): Promise<RunningWorkspace> {
  const { storage, isShared, keyRing, dataFolder, clock, ids, random, logger } = shared;
  const { workspace, folder, audit, secrets, ingestTokens, versions, configuration } = workspaceConfiguration;
  const lease = `engine:${workspace}`;
  const teardown = createTeardown(logger);
  let leader: Leader | undefined;
  teardown.add('ingest tokens', () => ingestTokens.stop());

  const election = createLeaderElection({
    storage,
    name: lease,
    owner: node,
    isAlone: !isShared,
    clock,
    logger,
    async lead(term) {
      await Promise.all([secrets.refresh(), ingestTokens.reload()]);
      const started = await startLeader(
        {
          ...{ workspace, storage, keyRing, http, dial, secretOf: secrets.get, clock, ids, random, logger },
          ...{ dataFolder, configFolder: folder, configuration: configuration.get, meters, quotas },
          facts: () => facts(configuration.get()),
        },
        term,
      );
      // Settings that came while it started count as well.
      started.apply(configuration.get());
      leader = started;
      await versions.lead();
      return {
        async stop(inTime) {
          leader = undefined;
          versions.follow();
          await started.stop(inTime);
        },
      };
    },
  });
  teardown.add('leadership', election.stop);
  await election.start().catch(async (error: unknown) => {
    await teardown.run();
    throw error;
  });
  const stopTests = new AbortController();
  teardown.add('test sends', async () => stopTests.abort());

  const context: WorkspaceContext = {
    ...common,
    stores: storage.in(workspace),
    get components() {
      return leader?.monitor.components ?? NO_COMPONENTS;
    },
    get minutes() {
      return leader?.minutes ?? NO_MINUTES;
    },
    configuration: configuration.get,
    configurationStatus: configuration.status,
    configurationTexts: configuration.texts,
    save: configuration.save,
    dryRun: configuration.dryRun,
    testSend: createTestSend({
      ...{ http, dial, secretOf: secrets.get, clock, ids },
      logger: logger.child({ component: 'test-send' }),
      logFolder: join(dataFolder, 'log'),
      signal: stopTests.signal,
      instanceName: () => configuration.get().settings.instance.name,
    }),
    checkTexts: configuration.check,
    secrets,
    ingestTokens,
    audit,
    heldBecause: target => leader?.heldBecause(target),
    async requeue(filter, now) {
      if (leader === undefined) throw notLeading();
      return leader.requeue(filter, now);
    },
    transaction: work => storage.transaction(tx => work(tx.in(workspace))),
    clock,
    subscribe: listener =>
      storage.subscribe(fact => {
        if (fact.workspace === workspace || fact.workspace === '*') listener(fact);
      }),
  };

  return {
    served: {
      context,
      authenticate,
      ingestRefused: meters.ingestRefused,
      monitor() {
        if (leader === undefined) throw notLeading();
        return leader.monitor;
      },
      async receiveEvents(pipeline, events) {
        if (leader === undefined) throw notLeading();
        await leader.receive(pipeline, events);
      },
      leaderUrl: leaderUrl({ storage, lease, node, isLeading: election.isLeading, clock }),
    },
    follow() {
      teardown.add(
        'reload',
        configuration.subscribe(now => void leader?.apply(now)),
      );
      const cannotReread = (error: unknown): void =>
        logger.warn(
          { reason: reasonOf(error) },
          'secrets or tokens that another process has changed cannot be read',
        );
      teardown.add(
        'facts',
        storage.subscribe(({ resource: noun }) => {
          if (noun === 'secrets') secrets.refresh().catch(cannotReread);
          if (noun === 'ingest-tokens') ingestTokens.reload().catch(cannotReread);
        }),
      );
      teardown.add(
        'secrets',
        secrets.subscribe(name => void configuration.secretsChanged(name)),
      );
      configuration.watch();
    },
    stop: teardown.run,
  };
}
