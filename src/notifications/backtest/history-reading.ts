import { on, once } from 'node:events';
import type { MessagePort, Worker } from 'node:worker_threads';
import { reasonOf } from '../../lib/errors.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Component } from '../../pipelines/components/component.ts';
import { type PackedHour, packHour } from '../../pipelines/history/minute-codec.ts';
import { minutesId } from '../../pipelines/history/row-ids.ts';
import { readVolumes, type VolumesByHour } from '../../pipelines/history/usual-volumes.ts';
import { openView } from '../../storage/open-view.ts';
import { hourStore } from '../../storage/stores/hours.ts';
import { type MinuteStore, minuteStore } from '../../storage/stores/minutes.ts';
import type { ReadView } from '../../storage/view.ts';
import type { RecordedHistory } from './replayed-components.ts';

/** The store that has what was recorded, and what of it is read. */
export interface HistorySource {
  /** Its address. */
  readonly storage: string;
  readonly dataFolder: string;
  readonly workspace: string;
  readonly components: readonly Component[];
  /** Epoch ms, whole minutes. */
  readonly warmUpFrom: number;
  readonly to: number;
}

/** Rows of minutes that are asked for at a time. */
const IDS_AT_ONCE = 500;

/**
 * Of the thread that reads: the minutes of an hour (epoch ms), in place of those of one that was; what hours brought, of the
 * days before too; or its end.
 */
type ReadRequest =
  | { readonly kind: 'minutes'; readonly hour: number; readonly spare: PackedHour | undefined }
  | { readonly kind: 'volumes' }
  | { readonly kind: 'end' };

interface ReadAnswer {
  readonly packed?: PackedHour;
  readonly volumes?: VolumesByHour;
  /** Why there is neither. */
  readonly reason?: string;
}

/** What was recorded, as a thread that `serveHistory` answers in reads it: ahead of who asks. */
export const requestHistory = (reading: Worker): RecordedHistory => ({
  readHour: (hour, spare) => requestMinutes(reading, hour, spare),
  readVolumes: () => requestVolumes(reading),
});

async function requestMinutes(reading: Worker, hour: number, spare?: PackedHour): Promise<PackedHour> {
  const moved = spare === undefined ? [] : [spare.buffer];
  const { packed, reason = 'no minutes' } = await request(reading, { kind: 'minutes', hour, spare }, moved);
  if (packed === undefined) throw unreadable(reason);
  return packed;
}

async function requestVolumes(reading: Worker): Promise<VolumesByHour> {
  const { volumes, reason = 'no hours' } = await request(reading, { kind: 'volumes' }, []);
  if (volumes === undefined) throw unreadable(reason);
  return volumes;
}

const unreadable = (reason: string): Error => new Error(`what was recorded cannot be read: ${reason}`);

async function request(
  reading: Worker,
  asked: ReadRequest,
  moved: readonly ArrayBuffer[],
): Promise<ReadAnswer> {
  reading.postMessage(asked, moved);
  const [answer]: ReadAnswer[] = await once(reading, 'message');
  return answer ?? {};
}

/** Ends the thread. */
export async function endReading(reading: Worker): Promise<void> {
  const hasEnded = reading.threadId < 0;
  if (hasEnded) return;
  reading.postMessage({ kind: 'end' } satisfies ReadRequest);
  await once(reading, 'exit').catch(() => {});
}

/** Answers requests, one after the other, with what crosses to the other thread without being copied. */
export async function serveHistory(source: HistorySource, port: MessagePort): Promise<void> {
  const opening = openView({
    ...{ url: source.storage, dataFolder: source.dataFolder, logger: silentLogger, isInThread: true },
  });
  opening.catch(() => {});
  for await (const [message] of on(port, 'message')) {
    const asked: ReadRequest = message;
    if (asked.kind === 'end') break;
    try {
      const { answer, moved } = await read(source, asked, (await opening).db);
      port.postMessage(answer, [moved]);
    } catch (error) {
      port.postMessage({ reason: reasonOf(error) } satisfies ReadAnswer);
    }
  }
  await opening.then(view => view.close()).catch(() => {});
  port.close();
}

async function read(
  source: HistorySource,
  asked: Exclude<ReadRequest, { kind: 'end' }>,
  db: ReadView['db'],
): Promise<{ readonly answer: ReadAnswer; readonly moved: ArrayBuffer }> {
  const { components, workspace, warmUpFrom, to } = source;
  if (asked.kind === 'volumes') {
    const volumes = await readVolumes(hourStore(db, workspace), components, { from: warmUpFrom, to });
    return { answer: { volumes }, moved: volumes.values.buffer };
  }
  const packed = packHour(await recordsOf(source, minuteStore(db, workspace), asked.hour), asked.spare);
  return { answer: { packed }, moved: packed.buffer };
}

async function recordsOf({ components }: HistorySource, minutes: MinuteStore, hour: number) {
  const ids = components.map(component => minutesId(hour, component));
  const texts = new Map<string, string>();
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE)
    for (const { id, data } of await minutes.byIds(ids.slice(at, at + IDS_AT_ONCE))) texts.set(id, data);
  return ids.map(id => texts.get(id));
}
