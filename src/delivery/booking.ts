import type { HeadgateEvent } from '../events/event.ts';
import { AppError } from '../lib/errors.ts';
import type { FaultLog } from '../lib/fault-log.ts';
import type { SettleOperation, TargetPause } from '../storage/storage.ts';
import type { Outcome } from '../targets/outcome.ts';
import { AGAIN_MS } from './again.ts';
import type { AttemptEnd, Attempts } from './attempt.ts';
import type { Landing } from './flight.ts';
import { type HandOver, handedOver } from './hand-over.ts';
import type { Prepared } from './prepare.ts';
import { settlement, skip } from './settlement.ts';

/** What an attempt brought one of the deliveries that were sent in it. */
export interface Booked {
  readonly prepared: Prepared;
  readonly settlement: SettleOperation;
  /** Null when nothing was sent. */
  readonly durationMs: number | null;
  /** When it may be tried again, on the monotonic clock; means nothing once it is settled. */
  readonly due: number;
  /** It goes on alone: the receiver did not like what travelled together. */
  readonly isAlone: boolean;
}

const LOST: Outcome = {
  kind: 'refused',
  reason: 'its event is no longer in the store',
  isAboutMessage: true,
};

/** What the ledger gets of an attempt. */
export function bookings({ skipped, sent, end }: Landing, options: Attempts): readonly Booked[] {
  const unsent = skipped.map(prepared => bookedUnsent(prepared, options));
  const booked =
    end === undefined ? [] : sent.map(prepared => bookedSent(prepared, sent.length, end, options));
  return [...booked, ...unsent];
}

/** The same with the pause that its receiver asked for, which one of them keeps for all. */
export function withPause(booked: readonly Booked[], pause: TargetPause | undefined): readonly Booked[] {
  const [first, ...others] = booked;
  if (first === undefined || pause === undefined) return booked;
  return [{ ...first, settlement: { ...first.settlement, pause } }, ...others];
}

interface Standing extends Pick<HandOver, 'isFailing' | 'ids'>, Pick<Attempts, 'clock'> {
  /** Ids of the targets that stand in, for this event. */
  readonly fallbacks: (event: HeadgateEvent | undefined) => readonly string[];
}

/** The same with what others get in place of the target. `isFailing` says whether it fails, this attempt included. */
export function withHandOver(
  booked: readonly Booked[],
  { fallbacks, isFailing, ids, clock }: Standing,
): readonly Booked[] {
  const now = clock.now();
  return booked.map(one => {
    const { entry, made, standIns } = one.prepared;
    const others = (): readonly string[] => (one.isAlone ? [] : fallbacks(made));
    const facts = { row: entry.row, fallbacks: others, isFailing, standIns, ids, now };
    return { ...one, settlement: handedOver(one.settlement, facts) };
  });
}

function bookedUnsent(prepared: Prepared, { clock, random, settings, workspace }: Attempts): Booked {
  const { row } = prepared.entry;
  const now = clock.now();
  const { retrySchedule } = settings();
  const reason = prepared.skippedBecause;
  return {
    prepared,
    settlement:
      reason === undefined
        ? settlement({
            workspace,
            delivery: row,
            outcome: LOST,
            startedAt: now,
            durationMs: 0,
            retrySchedule,
            random,
          })
        : skip(workspace, row, { now, reason }),
    durationMs: null,
    due: 0,
    isAlone: false,
  };
}

/** Of several that are refused for what they hold, one may be at fault: each is tried alone, at once. */
function bookedSent(
  prepared: Prepared,
  together: number,
  { outcome, startedAt, started, durationMs }: AttemptEnd,
  { random, settings, workspace }: Attempts,
): Booked {
  const delivery = prepared.entry.row;
  const { retrySchedule } = settings();
  const facts = { workspace, delivery, startedAt, durationMs, retrySchedule, random };
  const isSplit = together > 1 && outcome.kind === 'refused' && outcome.isAboutMessage === true;
  if (!isSplit) {
    const booked = settlement({ ...facts, outcome });
    return {
      prepared,
      settlement: booked,
      durationMs,
      due: started + ((booked.nextAt ?? startedAt) - startedAt),
      isAlone: false,
    };
  }
  const reason = `${outcome.reason}, ${together} together; each is tried alone`;
  const booked = settlement({ ...facts, outcome: { ...outcome, reason } });
  return {
    prepared,
    settlement: { ...booked, state: 'waiting', settledAt: null, batch: null },
    durationMs,
    due: started,
    isAlone: true,
  };
}

/**
 * Writes until the disk takes it. `stopped` when the process ends first: the delivery is sent again after restart.
 * `overtaken` when it is booked of a delivery that a person has put back meanwhile.
 */
export async function settleInStore(
  operation: SettleOperation,
  { storage, signal, clock }: Attempts,
  faults: FaultLog,
): Promise<'booked' | 'overtaken' | 'gone' | 'stopped'> {
  let written = operation;
  for (;;) {
    try {
      await storage.commit(written);
      faults.passed();
      return written.isOvertaken === true ? 'overtaken' : 'booked';
    } catch (error) {
      if (error instanceof AppError && error.code === 'conflict') {
        if (written.isOvertaken === true || written.state === 'sent') return 'gone';
        written = { ...operation, isOvertaken: true };
        continue;
      }
      faults.failed(error);
      if (signal.aborted) return 'stopped';
      await clock.sleep(AGAIN_MS, signal);
    }
  }
}
