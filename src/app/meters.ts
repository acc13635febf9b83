import type { Identity } from '../auth/identity.ts';
import { SignInRefused } from '../auth/sso/refusal.ts';
import type { HeadgateEvent } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError, type ErrorCode } from '../lib/errors.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { PipelineMeter } from '../pipelines/context.ts';
import type { SettleOperation } from '../storage/operations/settle.ts';
import type { Storage } from '../storage/storage.ts';
import type { AttemptRow, DeliveryRow } from '../storage/stores/deliveries.ts';
import type { RetentionKind } from '../storage/stores/retention.ts';

/** In seconds. */
const COMMIT_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const ATTEMPT_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const BATCH_BUCKETS = [1, 2, 5, 10, 25, 50, 100, 250, 500];
const MOST_TARGETS = 1000;

export interface Meters {
  /** Counts an attempt of a delivery whose result was recorded. */
  attemptSettled(
    row: Pick<DeliveryRow, 'target' | 'unknown_attempts'>,
    settlement: SettleOperation,
    durationMs: number | null,
  ): void;
  /** Counts a delivery that was skipped because too many wait for its target. */
  dropped(row: Pick<DeliveryRow, 'target'>): void;
  /** Counts that deliveries begin to wait for the quota of the workspace. */
  readonly quotaReached: () => void;
  /** Counts a request, push or stream that was refused for a quota, by its name in `hosted.quotas`. */
  readonly quotaRefused: (quota: string) => void;
  /** Counts that evaluation goes on later, for the quota of the workspace. */
  readonly evaluationCarriedOver: () => void;
  /** Counts an expression or template that failed. */
  readonly expressionFailed: () => void;
  /** Counts an event of a notification that is on disk. */
  eventWritten(event: HeadgateEvent): void;
  readonly removed: (kind: RetentionKind, rows: number) => void;
  readonly pipelines: PipelineMeter;
  /** Counts a refused push; the pipeline is '(unknown)' for a sender with an unknown token. */
  readonly ingestRefused: (pipeline: string, code: ErrorCode) => void;
}

const OUTCOMES = {
  waiting: 'retry',
  exhausted: 'retry',
  unknown: 'retry',
  sent: 'sent',
  refused: 'refused',
} as const;

/** What an attempt brought: a delivery that may have arrived once keeps that state whatever a later one brings. */
function outcomeOf(
  row: Pick<DeliveryRow, 'unknown_attempts'>,
  { state, unknownAttempts, attempt }: SettleOperation,
): AttemptRow['outcome'] | undefined {
  if (state === 'skipped') return undefined;
  if (unknownAttempts > row.unknown_attempts) return 'unknown';
  return (state === 'unknown' ? attempt?.outcome : undefined) ?? OUTCOMES[state];
}

/** Each room reports its part through a hook of its own. */
export function createMeters(metrics: Metrics, clock: Pick<Clock, 'now'>): Meters {
  const deliveryMeters = createDeliveryMeters(metrics, clock);
  const transitions = metrics.counter({
    name: 'headgate_transitions_total',
    help: 'Events of incidents that were written: ALARM for openings and reminders, OK for ends.',
    labels: ['condition', 'status'],
  });
  const expressionFailures = metrics.counter({
    name: 'headgate_expression_failures_total',
    help: 'Expressions and places of templates that could not be evaluated: the place is empty, the log names the setting.',
    labels: [],
  });
  const quotaRefusals = metrics.counter({
    name: 'headgate_quota_refused_total',
    help: 'Requests, pushes and event streams that were refused, as their workspace had reached a quota of hosted.quotas.',
    labels: ['quota'],
  });
  const carriedOver = metrics.counter({
    name: 'headgate_evaluations_carried_over_total',
    help: 'Times that evaluating the notifications went on later, as it had taken what hosted.quotas.evaluationMsPerSecond allows.',
    labels: [],
  });
  const removedRows = metrics.counter({
    name: 'headgate_retention_removed_total',
    help: 'Rows that were removed because they are over for longer than retention says.',
    labels: ['kind'],
  });
  return {
    ...deliveryMeters,
    ...createPipelineMeters(metrics),
    eventWritten: ({ condition, status }) => transitions({ condition, status }),
    evaluationCarriedOver: () => carriedOver({}),
    quotaRefused: quota => quotaRefusals({ quota }),
    expressionFailed: () => expressionFailures({}),
    removed: (kind, rows) => removedRows({ kind }, rows),
  };
}

function createDeliveryMeters(
  metrics: Metrics,
  clock: Pick<Clock, 'now'>,
): Pick<Meters, 'attemptSettled' | 'dropped' | 'quotaReached'> {
  const attempts = metrics.counter({
    name: 'headgate_delivery_attempts_total',
    help: 'Attempts of deliveries, by what they brought: sent, retry, unknown or refused.',
    labels: ['target', 'outcome'],
  });
  const attemptSeconds = metrics.histogram({
    name: 'headgate_delivery_attempt_duration_seconds',
    help: 'How long attempts of deliveries take, from the request to the end of the answer.',
    labels: ['target'],
    buckets: ATTEMPT_BUCKETS,
  });
  const settled = metrics.counter({
    name: 'headgate_deliveries_settled_total',
    help: 'Deliveries that came to an end: sent, unknown, refused, exhausted or skipped.',
    labels: ['target', 'state'],
  });
  const dropped = metrics.counter({
    name: 'headgate_deliveries_dropped_total',
    help: 'Deliveries that were skipped because too many waited for a target with onBackpressure drop.',
    labels: ['target'],
  });
  const quotaReached = metrics.counter({
    name: 'headgate_deliveries_quota_reached_total',
    help: 'Times that deliveries began to wait, as their workspace had begun as many in a minute as hosted.quotas.deliveriesPerMinute allows.',
    labels: [],
  });
  const noteSuccess = createLastSuccess(metrics, clock);
  return {
    attemptSettled(row, operation, durationMs) {
      const { target } = row;
      const { state } = operation;
      const outcome = outcomeOf(row, operation);
      if (durationMs !== null) attemptSeconds({ target }, durationMs / 1000);
      if (outcome !== undefined) attempts({ target, outcome });
      if (state !== 'waiting') settled({ target, state });
      if (state === 'sent') noteSuccess(target);
    },
    dropped: ({ target }) => dropped({ target }),
    quotaReached: () => quotaReached({}),
  };
}

/** Targets come and go: those with the latest successes are exported. */
function createLastSuccess(metrics: Metrics, clock: Pick<Clock, 'now'>): (target: string) => void {
  const lastSuccess = new Map<string, number>();
  metrics.gauge(
    {
      name: 'headgate_delivery_last_success_timestamp_seconds',
      help: 'When a delivery to the target last arrived, since this process started.',
      labels: ['target'],
    },
    set => {
      for (const [target, at] of lastSuccess) set({ target }, at / 1000);
    },
  );
  return target => {
    lastSuccess.delete(target);
    lastSuccess.set(target, clock.now());
    const [oldest] = lastSuccess.keys();
    if (lastSuccess.size > MOST_TARGETS && oldest !== undefined) lastSuccess.delete(oldest);
  };
}

function createPipelineMeters(metrics: Metrics): Pick<Meters, 'pipelines' | 'ingestRefused'> {
  const failedReadings = metrics.counter({
    name: 'headgate_pipeline_readings_failed_total',
    help: 'Readings of pipelines that brought nothing: too-large, status, format, unrecognised, files of tls, or why no answer came.',
    labels: ['pipeline', 'reason'],
  });
  const refused = metrics.counter({
    name: 'headgate_pipeline_refused_total',
    help: 'Series and components that were not taken, as their pipeline or its workspace has as many as it may have; each reading counts.',
    labels: ['pipeline', 'kind'],
  });
  const rejected = metrics.counter({
    name: 'headgate_pipeline_increases_rejected_total',
    help: 'Increases (deltas) that pipelines pushed and were not counted: overlapping ones, of times that are counted in part, and outdated ones, before the 64 intervals that are kept of a series.',
    labels: ['pipeline', 'reason'],
  });
  const ingestRefused = metrics.counter({
    name: 'headgate_ingest_refused_total',
    help: 'What pipelines pushed and was refused as a whole, by the code of the error.',
    labels: ['pipeline', 'code'],
  });
  return {
    pipelines: {
      scrapeFailed: (pipeline, reason) => failedReadings({ pipeline, reason }),
      refused: (pipeline, kind) => refused({ pipeline, kind }),
      rejected: (pipeline, reason) => rejected({ pipeline, reason }),
    },
    ingestRefused: (pipeline, code) => ingestRefused({ pipeline, code }),
  };
}

/** Counts the batches that the store writes or refuses. */
export function createBatchMeter(metrics: Metrics): (operations: number, ms: number) => void {
  const size = metrics.histogram({
    name: 'headgate_store_batch_operations',
    help: 'Operations that one commit of the store holds.',
    labels: [],
    buckets: BATCH_BUCKETS,
  });
  const seconds = metrics.histogram({
    name: 'headgate_store_batch_duration_seconds',
    help: 'How long the store takes to write a batch to the disk.',
    labels: [],
    buckets: COMMIT_BUCKETS,
  });
  return (operations, ms) => {
    size({}, operations);
    seconds({}, ms / 1000);
  };
}

/** Measures how long commits take, and how many wait. */
export function meteredStorage(storage: Storage, metrics: Metrics, clock: Pick<Clock, 'monotonic'>): Storage {
  let waiting = 0;
  metrics.gauge(
    {
      name: 'headgate_store_operations_waiting',
      help: 'Operations that wait for the store now.',
      labels: [],
    },
    set => set({}, waiting),
  );
  metrics.gauge(
    { name: 'headgate_store_size_bytes', help: 'What the database takes on its disk.', labels: [] },
    async set => set({}, await storage.size()),
  );
  const seconds = metrics.histogram({
    name: 'headgate_store_commit_duration_seconds',
    help: 'From asking for a commit until it is on disk or refused, the wait for its batch included.',
    labels: [],
    buckets: COMMIT_BUCKETS,
  });
  const failures = metrics.counter({
    name: 'headgate_store_commits_failed_total',
    help: 'Commits that were refused, by the code of the error.',
    labels: ['code'],
  });
  return {
    ...storage,
    async commit(operation, lease) {
      const asked = clock.monotonic();
      waiting += 1;
      try {
        await storage.commit(operation, lease);
      } catch (error) {
        failures({ code: codeIn(error) });
        throw error;
      } finally {
        waiting -= 1;
        seconds({}, (clock.monotonic() - asked) / 1000);
      }
    },
  };
}

const codeIn = (error: unknown): string => (error instanceof AppError ? error.code : 'internal');

/** Counts logins and refused tokens. */
export function meteredIdentity(identity: Identity, metrics: Metrics): Identity {
  const logins = metrics.counter({
    name: 'headgate_logins_total',
    help: 'Logins by outcome: ok, or the code of the error; sso- before it for single sign-on.',
    labels: ['outcome'],
  });
  const refused = metrics.counter({
    name: 'headgate_tokens_refused_total',
    help: 'Requests that were refused because their token is missing, over or not valid here.',
    labels: [],
  });
  async function counted<Answer>(login: Promise<Answer>): Promise<Answer> {
    try {
      const answer = await login;
      logins({ outcome: 'ok' });
      return answer;
    } catch (error) {
      logins({ outcome: codeIn(error) });
      throw error;
    }
  }
  return {
    ...identity,
    login: request => counted(identity.login(request)),
    signIn: request => counted(identity.signIn(request)),
    sso: {
      name: () => identity.sso.name(),
      probe: () => identity.sso.probe(),
      begin: returnTo => identity.sso.begin(returnTo),
      logoutUrl: idToken => identity.sso.logoutUrl(idToken),
      async finish(answer) {
        try {
          const finished = await identity.sso.finish(answer);
          logins({ outcome: 'sso-ok' });
          return finished;
        } catch (error) {
          logins({ outcome: `sso-${error instanceof SignInRefused ? error.reason : codeIn(error)}` });
          throw error;
        }
      },
    },
    async authenticate(authorization) {
      try {
        return await identity.authenticate(authorization);
      } catch (error) {
        if (codeIn(error) === 'unauthenticated') refused({});
        throw error;
      }
    },
  };
}
