import { join } from 'node:path';
import type { Tenant } from '../api/tenant.ts';
import type { Authenticate } from '../auth/authenticate.ts';
import { createTestSend } from '../delivery/test-send.ts';
import type { Dial } from '../lib/dial.ts';
import { reasonOf } from '../lib/errors.ts';
import type { HttpClient } from '../lib/http.ts';
import type { House } from '../resources/verb.ts';
import type { FactSource } from './facts.ts';
import { NO_COMPONENTS, NO_MINUTES, notLeading } from './follower.ts';
import type { Held } from './held.ts';
import { leaderUrl } from './leader.ts';
import { createLeadership } from './leadership.ts';
import { type Led, type RunningQuotas, startLeading } from './leading.ts';
import type { Meters } from './meters.ts';
import type { Shared } from './shared.ts';
import { createTeardown } from './teardown.ts';

export interface WorkspaceOptions {
  /** Its configuration is in force. */
  readonly held: Held;
  /** Id of this process. */
  readonly node: string;
  readonly http: HttpClient;
  readonly dial: Dial;
  readonly meters: Meters;
  /** What is known to expire and concerns the workspace. */
  readonly facts: FactSource;
  readonly authenticate: Authenticate;
  /** What bounds the workspace while it runs; undefined where nobody bounds it. */
  readonly quotas?: RunningQuotas;
  /** What verbs find in every workspace of the installation. */
  readonly common: Pick<House, 'users' | 'keys'>;
}

/** A workspace that works: its engine runs here or in another process, and the API can serve it. */
export interface RunningWorkspace {
  readonly tenant: Tenant;
  /** Takes changes of the configuration and of secrets over from now on, until it is stopped. */
  follow(): void;
  /** Stops in the reverse order of the start, the configuration it was given included. */
  stop(): Promise<void>;
}

/** Starts what the workspace's configuration asks for; when that fails, what has started is stopped. */
export async function startWorkspace(
  shared: Shared,
  { held, node, http, dial, meters, facts, authenticate, quotas, common }: WorkspaceOptions,
): Promise<RunningWorkspace> {
  const { storage, isShared, keyRing, dataFolder, clock, ids, random, logger } = shared;
  const { workspace, folder, audit, secrets, ingestTokens, versions, configuration } = held;
  const lease = `engine:${workspace}`;
  const teardown = createTeardown(logger);
  let led: Led | undefined;
  teardown.add('ingest tokens', ingestTokens.stop);

  const leadership = createLeadership({
    storage,
    name: lease,
    owner: node,
    isAlone: !isShared,
    clock,
    logger,
    async lead(tenure) {
      await Promise.all([secrets.reread(), ingestTokens.reread()]);
      const started = await startLeading(
        {
          ...{ workspace, storage, keyRing, http, dial, secretOf: secrets.get, clock, ids, random, logger },
          ...{ dataFolder, configFolder: folder, configuration: configuration.get, meters, quotas },
          facts: () => facts(configuration.get()),
        },
        tenure,
      );
      // Settings that came while it started count as well.
      started.apply(configuration.get());
      led = started;
      await versions.lead();
      return {
        async stop(inTime) {
          led = undefined;
          versions.follow();
          await started.stop(inTime);
        },
      };
    },
  });
  teardown.add('leadership', leadership.stop);
  await leadership.start().catch(async (error: unknown) => {
    await teardown.run();
    throw error;
  });
  const stopTests = new AbortController();
  teardown.add('test sends', async () => stopTests.abort());

  const house: House = {
    ...common,
    stores: storage.in(workspace),
    get components() {
      return led?.monitor.components ?? NO_COMPONENTS;
    },
    get minutes() {
      return led?.minutes ?? NO_MINUTES;
    },
    configuration: configuration.get,
    configurationStatus: configuration.status,
    configurationTexts: configuration.texts,
    save: configuration.save,
    trial: configuration.trial,
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
    heldBecause: target => led?.heldBecause(target),
    async requeue(filter, now) {
      if (led === undefined) throw notLeading();
      return led.requeue(filter, now);
    },
    transaction: work => storage.transaction(tx => work(tx.in(workspace))),
    clock,
    facts: listener =>
      storage.subscribe(fact => {
        if (fact.workspace === workspace || fact.workspace === '*') listener(fact);
      }),
  };

  return {
    tenant: {
      house,
      authenticate,
      ingestRefused: meters.ingestRefused,
      monitor() {
        if (led === undefined) throw notLeading();
        return led.monitor;
      },
      async post(pipeline, events) {
        if (led === undefined) throw notLeading();
        await led.post(pipeline, events);
      },
      leaderUrl: leaderUrl({ storage, lease, node, isLeading: leadership.isLeading, clock }),
    },
    follow() {
      teardown.add(
        'reload',
        configuration.subscribe(now => void led?.apply(now)),
      );
      const cannotReread = (error: unknown): void =>
        logger.warn(
          { reason: reasonOf(error) },
          'secrets or tokens that another process has changed cannot be read',
        );
      teardown.add(
        'facts',
        storage.subscribe(({ noun }) => {
          if (noun === 'secrets') secrets.reread().catch(cannotReread);
          if (noun === 'ingest-tokens') ingestTokens.reread().catch(cannotReread);
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
