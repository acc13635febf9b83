import type { AcknowledgementRow, AcknowledgementStore } from '../storage/stores/acknowledgements.ts';
import type { AlarmSummary, DeliveryStore } from '../storage/stores/deliveries.ts';
import type { IncidentRow } from '../storage/stores/incidents.ts';
import { findTargetType } from '../targets/index.ts';
import { type Held, type HeldReader, heldOf } from './held.ts';

/** What became of the alarms of an incident for one target: `unknown` may have arrived, `failed` and `skipped` have not. */
export const RECIPIENT_OUTCOMES = ['notified', 'unknown', 'waiting', 'failed', 'skipped'] as const;
type RecipientOutcome = (typeof RECIPIENT_OUTCOMES)[number];

/** `unknown`: an alarm may have arrived. `waiting`: nobody yet, and something is still to be sent. */
export const NOTIFIED = ['somebody', 'unknown', 'waiting', 'nobody'] as const;

/** A target of an incident. */
export interface Recipient {
  readonly target: string;
  readonly outcome: RecipientOutcome;
  /** When it was first notified, in epoch ms. */
  readonly at: number | undefined;
  /** What holds the latest alarm, when it waits for more than its next attempt. */
  readonly held: Held | undefined;
  /** Why the latest alarm is not sent, or not yet. */
  readonly reason: string | undefined;
  /** The target whose fallback it is. */
  readonly insteadOf: string | undefined;
  /** It keeps a record in the product, such as the bulletin: nobody is alerted by it. */
  readonly isRecord: boolean;
}

/** An incident as reads answer it. */
export interface DescribedIncident {
  readonly row: IncidentRow;
  readonly notified: (typeof NOTIFIED)[number];
  /** The incident that inhibits it, or did last. */
  readonly inhibitedBy: string | undefined;
  readonly recipients: readonly Recipient[];
  /** Undefined while nobody looks after it. */
  readonly acknowledgement: AcknowledgementRow | undefined;
}

interface Reader extends HeldReader {
  readonly stores: {
    readonly deliveries: Pick<DeliveryStore, 'alarmsOf'>;
    readonly acknowledgements: Pick<AcknowledgementStore, 'ofIncidents'>;
  };
}

/** An incident of a flood has the recipients of its summary, by which they were notified of it. */
export async function describeIncidents(
  reader: Reader,
  rows: readonly IncidentRow[],
): Promise<readonly DescribedIncident[]> {
  const ids = rows.flatMap(({ id, group_id: group }) => (group === null ? [id] : [id, group]));
  const byIncident = new Map<string, AlarmSummary[]>();
  const [summaries, acknowledgements] = await Promise.all([
    reader.stores.deliveries.alarmsOf(ids),
    reader.stores.acknowledgements.ofIncidents(rows.map(({ id }) => id)),
  ]);
  for (const summary of summaries) {
    const others = byIncident.get(summary.incidentId);
    if (others === undefined) byIncident.set(summary.incidentId, [summary]);
    else others.push(summary);
  }
  const records = recordsIn(reader);
  const acknowledged = new Map(
    acknowledgements.flatMap(one => (one.acknowledged === 1 ? [[one.incident, one]] : [])),
  );
  return rows.map(row => {
    const alarms = byIncident.get(row.id) ?? byIncident.get(row.group_id ?? '') ?? [];
    const recipients = alarms.map(alarm => recipientOf(reader, alarm, records));
    const waiting = alarms.find(({ last }) => last.inhibited_by !== null);
    return {
      row,
      recipients,
      inhibitedBy: waiting?.last.inhibited_by ?? row.inhibited_by ?? undefined,
      notified: notifiedOf(recipients),
      acknowledgement: acknowledged.get(row.id),
    };
  });
}

const recordsIn = ({ configuration }: Reader): ReadonlySet<string> =>
  new Set(
    configuration()
      .targets.filter(({ settings }) => findTargetType(settings.type)?.isRecord === true)
      .map(({ settings }) => settings.id),
  );

function recipientOf(
  reader: Reader,
  { target, notifiedAt, mayHaveArrived, last, unsettled }: AlarmSummary,
  records: ReadonlySet<string>,
): Recipient {
  const outcome = notifiedAt !== null ? 'notified' : mayHaveArrived ? 'unknown' : OUTCOMES[last.state];
  const held = outcome === 'notified' || unsettled === undefined ? undefined : heldOf(unsettled, reader);
  return {
    target,
    outcome,
    at: notifiedAt ?? undefined,
    held,
    reason: outcome === 'notified' ? undefined : (held?.because ?? last.last_error ?? undefined),
    insteadOf: last.fallback_for ?? undefined,
    isRecord: records.has(target),
  };
}

const OUTCOMES: { readonly [State in AlarmSummary['last']['state']]: RecipientOutcome } = {
  waiting: 'waiting',
  grouped: 'waiting',
  sent: 'notified',
  unknown: 'unknown',
  refused: 'failed',
  exhausted: 'failed',
  skipped: 'skipped',
};

/** A record in the product is not somebody. */
function notifiedOf(recipients: readonly Recipient[]): DescribedIncident['notified'] {
  const people = recipients.filter(({ isRecord }) => !isRecord);
  if (people.some(({ outcome }) => outcome === 'notified')) return 'somebody';
  if (people.some(({ outcome }) => outcome === 'unknown')) return 'unknown';
  return people.some(({ outcome }) => outcome === 'waiting') ? 'waiting' : 'nobody';
}
