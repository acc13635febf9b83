import type { Clock } from '../../lib/clock.ts';
import type { MinutesRow } from '../../storage/stores/minutes.ts';
import type { Component } from '../components/component.ts';
import { decodeMinutes, type MinuteValues } from './minute-codec.ts';
import { HOUR_MS, MINUTE_MS, minutesId } from './row-ids.ts';

const DAY_HOURS = 24;
/** A mean of less says little. */
const LEAST_MINUTES = 60;
/** A day begins within an hour, so it has parts of one more. */
const IDS_OF_ONE = DAY_HOURS + 1;
/** Components whose rows are read together: a read takes at most 500 ids. */
const TOGETHER = Math.floor(500 / IDS_OF_ONE);
/** An alarm is worth more than what is usual: it waits no longer, and of a flood only the first are looked up. */
const MOST_WAIT_MS = 2000;
const MOST_WAITING = 200;

/** The mean of the last 24 hours, of what is counted. */
interface UsualRate {
  readonly eventsPerSecond?: number;
  readonly bytesPerSecond?: number;
}

/** Says how much a component took in or sent out as a rule; undefined where less than an hour of it is known. */
export type UsualRates = (component: Component) => Promise<UsualRate | undefined>;

export interface UsualRatesOptions {
  readonly clock: Clock;
  /** Reads recorded minutes by the ids of their rows, at most 500. */
  readonly read: (ids: readonly string[]) => Promise<readonly MinutesRow[]>;
}

interface Waiting {
  readonly component: Component;
  readonly answer: (rate: UsualRate | undefined) => void;
}

/** Looks up together what is asked for at once. It never rejects. */
export function createUsualRates({ clock, read }: UsualRatesOptions): UsualRates {
  const waiting: Waiting[] = [];
  let isReading = false;

  async function answerAll(): Promise<void> {
    // What the same piece of work asks for comes along.
    await Promise.resolve();
    while (waiting.length > 0) {
      const some = waiting.splice(0, TOGETHER);
      const rates = await ratesOf(some.map(({ component }) => component)).catch(() => undefined);
      for (const [at, { answer }] of some.entries()) answer(rates?.[at]);
    }
    isReading = false;
  }

  async function ratesOf(components: readonly Component[]): Promise<readonly (UsualRate | undefined)[]> {
    const end = clock.now();
    const firstHour = Math.floor((end - DAY_HOURS * HOUR_MS) / HOUR_MS) * HOUR_MS;
    const hours = Array.from({ length: IDS_OF_ONE }, (_, index) => firstHour + index * HOUR_MS);
    const rows = await read(components.flatMap(one => hours.map(hour => minutesId(hour, one))));
    const byId = new Map(rows.map(row => [row.id, row]));
    return components.map(component =>
      meanOf(
        component,
        hours.flatMap(hour => byId.get(minutesId(hour, component)) ?? []),
        end,
      ),
    );
  }

  return component => {
    if (waiting.length >= MOST_WAITING) return Promise.resolve(undefined);
    return new Promise(resolve => {
      const cancel = clock.after(MOST_WAIT_MS, () => resolve(undefined));
      waiting.push({
        component,
        answer(rate) {
          cancel();
          resolve(rate);
        },
      });
      if (isReading) return;
      isReading = true;
      void answerAll();
    });
  };
}

function meanOf({ kind }: Component, rows: readonly MinutesRow[], end: number): UsualRate | undefined {
  const minutes = rows.flatMap(({ hour, data }) =>
    [...decodeMinutes(data)]
      .filter(([minute]) => hour + minute * MINUTE_MS >= end - DAY_HOURS * HOUR_MS)
      .map(([, values]) => values),
  );
  const events = meanPerSecond(minutes, kind === 'input' ? 'in_events' : 'out_events');
  const bytes = meanPerSecond(minutes, kind === 'input' ? 'in_bytes' : 'out_bytes');
  if (events === undefined && bytes === undefined) return undefined;
  return {
    ...(events !== undefined && { eventsPerSecond: events }),
    ...(bytes !== undefined && { bytesPerSecond: bytes }),
  };
}

/** Over the minutes in which it was read. */
function meanPerSecond(minutes: readonly MinuteValues[], counter: keyof MinuteValues): number | undefined {
  const known = minutes.flatMap(values => values[counter] ?? []);
  if (known.length < LEAST_MINUTES) return undefined;
  const sum = known.reduce((total, value) => total + value, 0);
  return Number((sum / (known.length * 60)).toPrecision(4));
}
