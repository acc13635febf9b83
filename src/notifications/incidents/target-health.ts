import type { FailingState, TargetHealthChange } from '../../delivery/health.ts';
import type { ResultBus } from '../../delivery/results.ts';
import type { ExpressionWarnings } from '../../expressions/warnings.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import { formatDuration } from '../../lib/duration.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMutex } from '../../lib/mutex.ts';
import type { Storage } from '../../storage/storage.ts';
import type { DeliveryRow, WithheldDelivery } from '../../storage/stores/deliveries.ts';
import type { IncidentRow, IncidentStore } from '../../storage/stores/incidents.ts';
import { resolveRoutes, type Target } from '../../targets/target.ts';
import { TARGET_FAILING, TARGET_HEALTH } from '../notification.ts';
import type { OpenIncident, RuleState } from '../rule-state.ts';
import type { Incidents } from './incidents.ts';

export interface TargetHealthOptions {
  readonly incidents: Incidents;
  /** Reports changes of the health of targets. By default there are none. */
  readonly results?: Pick<ResultBus, 'subscribe'> | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly isConfigured: (target: string) => boolean;
  /** Id of the target that notifies operators; undefined when only the bulletin is to show it. */
  readonly operationalTarget: () => string | undefined;
}

/** Opens an incident when a target begins to fail, and closes it when a delivery arrives again. */
export interface TargetHealth {
  /** Resumes an open incident of the store. */
  resume(row: IncidentRow): void;
  /** Notifies what could not be written before, and closes the incidents of targets that were removed. */
  evaluate(): void;
}

/** The state of a target that is to be notified, until it is on disk. */
interface DesiredState {
  readonly state: TargetHealthChange['state'] | 'removed';
  readonly text: string;
  /** True when shown by a delivery that was itself about a target's health: no other is sent because of it. */
  readonly isBulletinOnly: boolean;
}

const ORIGIN: RuleState['origin'] = {
  id: TARGET_HEALTH,
  condition: TARGET_FAILING,
  subjectKind: 'target',
  windowMs: 0,
  grouping: undefined,
  fingerprint: TARGET_HEALTH,
  targetConfigs: undefined,
  settings: { severity: 'error' },
};

const keyOf = (target: string): string => `*/${target}`;
const targetOf = (key: string): string => key.slice(keyOf('').length);

export function createTargetHealth(options: TargetHealthOptions): TargetHealth {
  const { incidents, clock } = options;
  const desiredStates = new Map<string, DesiredState>();
  const ruleState: RuleState = { origin: ORIGIN, targets: [], incidents: new Map(), writing: new Map() };

  function reconcile(target: string, desired: DesiredState): void {
    const key = keyOf(target);
    if (ruleState.writing.has(key)) return;
    const open = ruleState.incidents.get(key);
    if (isReached(desired, open)) {
      desiredStates.delete(target);
      return;
    }
    const isEnd = desired.state === 'recovered' || desired.state === 'removed';
    const operational = options.operationalTarget();
    const isBulletinOnly = desired.isBulletinOnly || operational === undefined || operational === target;
    void incidents.notify(isBulletinOnly ? ruleState : { ...ruleState, targets: [operational] }, {
      subject: { key, name: target, component: undefined },
      status: isEnd ? 'OK' : 'ALARM',
      description: {
        text: isEnd ? endText(target, desired, open) : desired.text,
        fields: { state: desired.state },
        reportedState: desired.state,
      },
      ...(desired.state === 'removed' && { closeReason: 'the target was removed' }),
    });
  }

  function endText(target: string, desired: DesiredState, open: OpenIncident | undefined): string {
    if (desired.state === 'removed') return desired.text;
    const openMs = Math.max(0, clock.now() - (open?.row.opened_at ?? clock.now()));
    return `Target ${target} is delivering again after ${formatDuration(openMs)}`;
  }

  function setDesired(target: string, desired: DesiredState): void {
    desiredStates.set(target, desired);
    reconcile(target, desired);
  }

  options.results?.subscribe(result => {
    // The failure of a target that was removed is not notified.
    if (result.kind !== 'health' || !options.isConfigured(result.target)) return;
    const { state, reason } = result.change;
    const what = state === 'exhausted' ? 'gave up a delivery' : 'is failing';
    setDesired(result.target, {
      state,
      text: `Target ${result.target} ${what}: ${reason}`,
      isBulletinOnly: result.notification === TARGET_HEALTH,
    });
  });

  return {
    resume(row) {
      ruleState.incidents.set(row.subject, incidents.resume(row));
    },
    evaluate() {
      for (const key of ruleState.incidents.keys()) {
        const target = targetOf(key);
        if (!options.isConfigured(target))
          desiredStates.set(target, {
            state: 'removed',
            text: `Closed, target ${target} was removed`,
            isBulletinOnly: false,
          });
      }
      for (const [target, desired] of desiredStates) reconcile(target, desired);
    },
  };
}

function isReached({ state, text }: DesiredState, open: OpenIncident | undefined): boolean {
  if (state === 'recovered' || state === 'removed') return open === undefined;
  if (state === 'failing') return open !== undefined;
  return open?.row.text === text;
}

/** Limit on failing targets in an answer; each has its incident. */
const MAX_FAILURES = 1000;

/** The open incidents of failing targets, by the target's id. */
export async function failuresOf(
  incidents: Pick<IncidentStore, 'list'>,
): Promise<ReadonlyMap<string, IncidentRow>> {
  const filter = { state: 'open', notification: TARGET_HEALTH } as const;
  const { rows } = await incidents.list(filter, { offset: 0, limit: MAX_FAILURES });
  return new Map(rows.map(row => [targetOf(row.subject), row]));
}

/** The last notified states of the failing targets, by id, from the open incidents of the store. */
export const failingTargets = (open: readonly IncidentRow[]): ReadonlyMap<string, FailingState> =>
  new Map(
    open
      .filter(row => row.notification === TARGET_HEALTH)
      .map(
        row => [targetOf(row.subject), row.reported_state === 'exhausted' ? 'exhausted' : 'failing'] as const,
      ),
  );

/** Deliveries that are put back in one transaction: nothing else is written meanwhile. */
const SLICE = 500;
/** Deliveries that are read of one incident: the newest are enough. */
const MAX_READ = 1000;
/** Before a target is looked at again for which the store could not be read or written. */
const RETRY_MS = 60_000;
/** What is moved from a removed target within this time is reported together. */
const REPORT_AFTER_MS = 1000;

export interface RedeliveryOptions {
  readonly workspace: string;
  readonly storage: Pick<Storage, 'in' | 'transaction'>;
  /** Reports targets that are well, and what was moved. By default nothing is. */
  readonly results?: Pick<ResultBus, 'subscribe'> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly expressionWarnings: ExpressionWarnings;
  readonly outbox: { readFrom(targets: Iterable<string>, first: string): void };
  /** All targets whose settings are known, by id. */
  readonly targets: ReadonlyMap<string, Target>;
  readonly isConfigured: (target: string) => boolean;
  /** Ids of the targets that a notification sends to now; none for one that is not active. */
  readonly targetsOf: (notification: string) => readonly string[];
  /** Holds back what is silenced, inhibited or muted now. */
  readonly groups: {
    withhold(row: DeliveryRow, event: StoredEvent): WithheldDelivery | undefined;
    confirm(row: DeliveryRow, event: StoredEvent, isWritten: boolean): void;
    mutedNow(): readonly string[];
    isHeldBack(row: DeliveryRow, event: StoredEvent): boolean;
  };
}

/** What was moved from one removed target, and not reported yet. */
interface Moved {
  count: number;
  /** Of these, alarms that no other target got. */
  unplaced: number;
  readonly to: Set<string>;
}

/**
 * Sends again what was given up although its incident is open, once a target is well, and finds who gets what waited for
 * a target that was removed.
 */
export class Redelivery {
  readonly #options: RedeliveryOptions;
  readonly #faults: CountedLog;
  readonly #mutex = createMutex();
  /** Targets to look at again. */
  readonly #pending = new Set<string>();
  readonly #moved = new Map<string, Moved>();
  #cancelRetry: Cancel = () => {};
  #cancelReport: Cancel = () => {};
  #isStopped = false;

  constructor(options: RedeliveryOptions) {
    this.#options = options;
    this.#faults = createCountedLog(options.logger, {
      fields: {},
      message: 'what was given up cannot be sent again',
      over: 'what was given up can be sent again',
    });
    options.results?.subscribe(result => {
      if (result.kind === 'well') this.recover(result.target);
      if (result.kind === 'moved') this.#noteMoved(result.row, result.targets);
    });
  }

  /** Targets that became well without this having been acted upon; `isFailing` are those that are not well now. */
  async start(isFailing: (target: string) => boolean): Promise<void> {
    const { storage, workspace } = this.#options;
    for (const target of await storage.in(workspace).deliveries.recoverable())
      if (!isFailing(target)) this.recover(target);
  }

  /** Makes what waits for the target due, and puts back what was given up for it. */
  recover(target: string): void {
    if (!this.#isStopped) void this.#mutex.run(() => this.#recover(target));
  }

  /**
   * The targets that get an alarm in place of a removed one: those of its notification that have nothing of the incident
   * yet. `later` while its notification is muted, or a silence or an incident holds it back.
   */
  async replacementsFor(row: DeliveryRow): Promise<readonly string[] | 'later'> {
    const { groups, isConfigured, storage, targets, targetsOf, workspace } = this.#options;
    const { deliveries, events, incidents } = storage.in(workspace);
    const incident = await incidents.get(row.incident_id);
    if (incident?.state !== 'open') return [];
    if (groups.mutedNow().includes(row.notification)) return 'later';
    const { rows } = await deliveries.list({ incident: row.incident_id }, { offset: 0, limit: MAX_READ });
    if (rows.some(other => isNewerAlarm(other, row))) return [];
    const event = await events.get(row.event_id);
    if (event === undefined) return [];
    if (groups.isHeldBack(row, parseStored(event.body))) return 'later';
    const present = new Set(rows.map(other => other.target));
    return resolveRoutes(
      targetsOf(row.notification),
      parseStored(event.body),
      targets,
      this.#options.expressionWarnings,
    ).filter(id => isConfigured(id) && !present.has(id));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelRetry();
    this.#cancelReport();
    await this.#mutex.idle();
    await this.#report();
  }

  async #recover(target: string): Promise<void> {
    const { isConfigured, logger, outbox, targets } = this.#options;
    const settings = targets.get(target)?.settings;
    if (this.#isStopped || settings === undefined || !isConfigured(target)) return;
    const all = { hurried: 0, redelivered: 0, withheld: 0 };
    try {
      for (let after: string | undefined = ''; after !== undefined; ) {
        const found: readonly DeliveryRow[] =
          settings.redeliverOnRecovery === false
            ? []
            : await this.#deliveries().givenUp(target, after, SLICE);
        const { hurried, redelivered, withheld } = await this.#putBack(target, found);
        all.hurried += hurried;
        all.redelivered += redelivered;
        all.withheld += withheld;
        const isDone = hurried < SLICE && found.length < SLICE;
        after = isDone ? undefined : (found.at(-1)?.id ?? after);
      }
      this.#faults.recovered();
    } catch (error) {
      this.#faults.failed(error, { target });
      this.#lookAgain(target);
    }
    if (all.hurried + all.redelivered > 0) outbox.readFrom([target], '');
    if (all.redelivered === 0) return;
    logger.info({ target, ...all }, 'a target is well again: what was given up of open incidents goes again');
    const alarms = all.redelivered === 1 ? '1 alarm' : `${all.redelivered} alarms`;
    const held =
      all.withheld === 0 ? '' : `, ${all.withheld} of them once nothing silences, mutes or inhibits them`;
    await this.#tell(
      target,
      'info',
      `Target ${target} is well again: ${alarms} of open incidents, given up before, went again${held}`,
    );
  }

  #deliveries() {
    return this.#options.storage.in(this.#options.workspace).deliveries;
  }

  /** Memory holds back what is silenced, inhibited or muted before that is on disk: what closes meanwhile drops it. */
  async #putBack(target: string, found: readonly DeliveryRow[]) {
    const { clock, groups, storage, workspace } = this.#options;
    const bodies = await storage.in(workspace).events.byIds([...new Set(found.map(row => row.event_id))]);
    const events = new Map(bodies.map(({ id, body }) => [id, parseStored(body)]));
    const withheld = found.flatMap(row => {
      const event = events.get(row.event_id);
      const hold = event && groups.withhold(row, event);
      return event === undefined || hold === undefined ? [] : [{ row: { ...row, ...hold }, event, hold }];
    });
    let written: ReadonlySet<string> = new Set();
    try {
      const { hurried, redelivered } = await storage.transaction(tx =>
        tx.in(workspace).recover({
          ...{ target, now: clock.now(), limit: SLICE },
          again: found.map(({ id }) => id),
          withheld: withheld.map(({ hold }) => hold),
        }),
      );
      written = new Set(redelivered);
      const held = withheld.filter(({ row }) => written.has(row.id)).length;
      return { hurried, redelivered: redelivered.length, withheld: held };
    } finally {
      for (const { row, event } of withheld) groups.confirm(row, event, written.has(row.id));
    }
  }

  /** Once the store can be read. */
  #lookAgain(target: string): void {
    if (this.#isStopped) return;
    this.#pending.add(target);
    if (this.#pending.size > 1) return;
    this.#cancelRetry = this.#options.clock.after(RETRY_MS, () => {
      const again = [...this.#pending];
      this.#pending.clear();
      for (const one of again) this.recover(one);
    });
  }

  #noteMoved({ target, status }: DeliveryRow, others: readonly string[]): void {
    if (status !== 'ALARM') return;
    const moved = this.#moved.get(target) ?? { count: 0, unplaced: 0, to: new Set<string>() };
    moved.count += 1;
    if (others.length === 0) moved.unplaced += 1;
    for (const id of others) moved.to.add(id);
    this.#moved.set(target, moved);
    this.#cancelReport();
    this.#cancelReport = this.#options.clock.after(REPORT_AFTER_MS, () => void this.#report());
  }

  async #report(): Promise<void> {
    const all = [...this.#moved];
    this.#moved.clear();
    for (const [target, { count, unplaced, to }] of all) {
      const targets = [...to].sort();
      this.#options.logger.warn(
        { target, count, unplaced, targets },
        'a target was removed: what waited for it went to others, or to nobody',
      );
      const alarms = count === 1 ? '1 alarm that waited' : `${count} alarms that waited`;
      const where = targets.length === 0 ? 'went to nobody' : `went to ${targets.join(', ')}`;
      const rest = targets.length > 0 && unplaced > 0 ? `, ${unplaced} of them to nobody` : '';
      await this.#tell(target, 'warn', `Target ${target} was removed: ${alarms} for it ${where}${rest}`);
    }
  }

  /** Writes the bulletin's one row about the target's deliveries. */
  async #tell(target: string, severity: 'info' | 'warn', text: string): Promise<void> {
    const { clock, storage, workspace } = this.#options;
    const id = `headgate-deliveries-${target}`.slice(0, MAX_ID);
    const title = 'Deliveries';
    const row = { id, severity, title, text, time: clock.now(), group_name: null, metadata: null };
    try {
      await storage.transaction(async tx => {
        await tx.in(workspace).removeMessage(id);
        await tx.in(workspace).addMessage(row);
      });
    } catch (error) {
      this.#faults.failed(error, { target });
    }
  }
}

/** The longest id of a message. */
const MAX_ID = 512;

/** What is newer replaces it, and is moved itself. */
const isNewerAlarm = (other: DeliveryRow, { seq, target }: DeliveryRow): boolean =>
  other.target === target &&
  other.status === 'ALARM' &&
  other.seq > seq &&
  (other.state === 'waiting' || other.state === 'grouped');

type StoredEvent = Parameters<typeof resolveRoutes>[1];

/** The body was written by this product from an event. */
const parseStored = (body: string): StoredEvent => JSON.parse(body) as StoredEvent;
