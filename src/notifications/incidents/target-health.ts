import type { FailingState, TargetHealthChange } from '../../delivery/health.ts';
import type { ResultBus } from '../../delivery/results.ts';
import type { Clock } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/duration.ts';
import type { IncidentRow, IncidentStore } from '../../storage/stores/incidents.ts';
import { TARGET_HEALTH } from '../notification.ts';
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
  condition: 'target-failing',
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
