import type { HeadgateEvent } from '../events/event.ts';
import { AppError } from '../lib/errors.ts';
import type { FaultLog } from '../lib/fault-log.ts';
import type { Target } from '../targets/target.ts';
import { AGAIN_MS } from './again.ts';
import { type AttemptEnd, type Attempts, attempt } from './attempt.ts';
import { type Prepared, prepare } from './prepare.ts';
import { type DeliveryQueue, groupOf, type Waiting } from './queue.ts';
import type { Claim } from './quota.ts';

export interface FlightOptions extends Attempts {
  readonly queue: DeliveryQueue;
  /** Told what reading and binding brings. */
  readonly faults: FaultLog;
}

/** What became of deliveries that were taken from the queue. */
export interface Landing {
  /** Not to be sent at all. */
  readonly skipped: readonly Prepared[];
  /** Sent together, or alone; their rows say in what. */
  readonly sent: readonly Prepared[];
  /** Undefined when nothing was sent. */
  readonly end: AttemptEnd | undefined;
}

/** `put back`: all are in the queue again, for a moment. `stopped`: the process ends, and they are sent again later. */
type Flown = Landing | 'put back' | 'stopped';

/** From the queue to the answer: looks at deliveries, binds those that travel together, and sends them once. */
export interface Flights {
  fly(entries: readonly Waiting[], target: Target, claim: Claim): Promise<Flown>;
}

export function createFlights(options: FlightOptions): Flights {
  const { clock, faults, ids, queue, storage, workspace } = options;
  const stores = storage.in(workspace);
  /** Batches whose deliveries are being brought together or are under way. */
  const flying = new Set<string>();

  function putBack(entries: readonly Waiting[], change: Partial<Waiting>): 'put back' {
    for (const entry of entries) queue.settle(entry, { ...entry, ...change });
    return 'put back';
  }

  const putBackForNow = (entries: readonly Waiting[]): 'put back' =>
    putBack(entries, { due: clock.monotonic() + AGAIN_MS });

  /** It left its batch since it was read: somebody had it tried again by itself. */
  async function renewed(first: Waiting): Promise<undefined> {
    const row = await stores.deliveries.get(first.row.id);
    if (row?.state === 'waiting') queue.settle(first, { ...first, row });
    else queue.settle(first);
  }

  /** Those that travelled together once do so again, whatever of them is in memory. Undefined when they cannot now. */
  async function together(first: Waiting, batch: string): Promise<readonly Waiting[] | undefined> {
    const rows = await stores.deliveries.inBatch(batch);
    if (!rows.some(row => row.id === first.row.id)) return renewed(first);
    const entries: Waiting[] = [];
    for (const row of rows) {
      const isFirst = row.id === first.row.id;
      const entry = isFirst ? first : queue.claim({ row, event: undefined, due: first.due });
      if (entry === undefined) {
        putBackForNow(entries.includes(first) ? entries : [...entries, first]);
        return undefined;
      }
      entries.push(entry);
    }
    return entries;
  }

  async function again(first: Waiting, batch: string, target: Target, claim: Claim): Promise<Flown> {
    if (flying.has(batch)) return putBackForNow([first]);
    flying.add(batch);
    try {
      const entries = await together(first, batch).catch(error => {
        faults.failed(error);
        putBackForNow([first]);
      });
      if (entries === undefined) return 'put back';
      if (!claim.covers(entries.length)) return putBack(entries, { together: entries.length });
      return await sendAll(entries, target);
    } finally {
      flying.delete(batch);
    }
  }

  async function sendAll(entries: readonly Waiting[], target: Target): Promise<Flown> {
    const { instanceName } = options.settings();
    const looked = await prepare(entries, { stores, target, instanceName }).catch(faults.failed);
    if (looked === undefined) return putBackForNow(entries);
    faults.passed();
    const skipped = looked.filter(one => one.event === undefined);
    const ready = looked.filter(isReady);
    const fitting = asManyAsFit(ready, target);
    putBack(entriesOf(ready.slice(fitting.length)), {});
    const bound = await bind(fitting, target);
    const [first] = bound;
    if (first === undefined) return { skipped, sent: [], end: undefined };
    const { batch, id, rest } = first.entry.row;
    const parcel = { id: batch ?? id, events: bound.map(one => one.event), ...(rest !== null && { rest }) };
    const end = await attempt(parcel, target, options);
    return end === 'stopped' ? 'stopped' : { skipped, sent: bound, end };
  }

  /** On disk before they are sent: after a crash the same ones travel under the same id. None, back in the queue, if not. */
  async function bind(ready: readonly Ready[], target: Target): Promise<readonly Ready[]> {
    const [first] = ready;
    if (first?.entry.row.batch !== null || (ready.length < 2 && !mayGrow(first, target))) return ready;
    const batch = ids.next();
    const deliveryIds = entriesOf(ready).map(({ row }) => row.id);
    try {
      await storage.commit({ kind: 'batch', workspace, batch, deliveryIds });
      return ready.map(one => ({ ...one, entry: queue.renew(one.entry, { batch }) }));
    } catch (error) {
      const isSettled = error instanceof AppError && error.code === 'conflict';
      if (isSettled) putBack(entriesOf(ready), { isAlone: true });
      else {
        faults.failed(error);
        putBackForNow(entriesOf(ready));
      }
      return [];
    }
  }

  return {
    async fly(entries, target, claim) {
      const [first] = entries;
      const batch = first?.row.batch ?? null;
      if (first !== undefined && batch !== null) return again(first, batch, target, claim);
      return sendAll(entries, target);
    },
  };
}

/** After a crash others of its group could join it, under an id that its receiver knows. */
const mayGrow = ({ entry }: Prepared, { batching }: Target): boolean =>
  groupOf(entry) !== undefined && entry.isAlone !== true && batching !== undefined;

interface Ready extends Prepared {
  readonly event: HeadgateEvent;
}

const entriesOf = (prepared: readonly Prepared[]): readonly Waiting[] => prepared.map(({ entry }) => entry);

const isReady = (one: Prepared): one is Ready => one.event !== undefined;

/** As many from the first on as one message may hold; the first in any case, and all that travelled together once. */
function asManyAsFit(ready: readonly Ready[], { batching }: Target): readonly Ready[] {
  if (ready.length < 2 || batching === undefined || ready[0]?.entry.row.batch !== null) return ready;
  let bytes = 0;
  const over = ready.findIndex(({ event }, index) => {
    bytes += Buffer.byteLength(JSON.stringify(event)) + 1;
    return index > 0 && bytes > batching.maxBytes;
  });
  return over < 0 ? ready : ready.slice(0, over);
}
