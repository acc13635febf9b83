import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { AppError } from '../../lib/errors.ts';
import { type Logger, silentLogger } from '../../lib/logger.ts';
import { snapshotFile } from './file.ts';
import type { PipelineRecord } from './record.ts';
import { createSnapshots, type SnapshotPlace } from './snapshots.ts';
import { snapshotInStore } from './stored.ts';

let store: TestStorage;
let folder: string;
let isRefusing: boolean;
const logged: string[] = [];
const logger: Logger = { ...silentLogger, error: (_, message) => void logged.push(message) };

beforeEach(async () => {
  store = await openTestStorage();
  folder = mkdtempSync(join(tmpdir(), 'headgate-snapshots-'));
  isRefusing = false;
  logged.length = 0;
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await store.close();
});

const inStore = (): SnapshotPlace =>
  snapshotInStore({
    workspace: 'default',
    storage: {
      in: workspace => store.storage.in(workspace),
      transaction: work =>
        isRefusing
          ? Promise.reject(new AppError('unavailable', 'the disk is full'))
          : store.storage.transaction(work),
    },
  });
const file = (): string => join(folder, 'snapshot');

/** A pipeline with so many components and series. */
function record(pipeline: string, components: number, series: number): PipelineRecord {
  const feed = (name: string) => ({
    name,
    startedAt: Number.NaN,
    readAt: 7,
    instances: [name, `${name} too`],
    series: Array.from({ length: series }, (_, at) => `counted{id="${name}-${at}"}`),
    values: Float64Array.from({ length: series }, (_, at) => at),
    times: new Float64Array(series).fill(Number.NaN),
  });
  return {
    ...{ pipeline, group: 'default', engine: 'vector', unreachedMs: 3 },
    components: Array.from({ length: components }, (_, at) => ({
      ...{ kind: 'input' as const, type: 'file', engineId: `in.${at}`, id: `in_${at}` },
      ...{ totals: [1, 2, 3, 4, 5, at], known: 3, lastDataAt: null, timestamp: 9, silentMs: at, idleMs: 1 },
      windows: [{ metric: 'in_events' as const, ms: 60_000, parts: Float64Array.of(1, at), watchedMs: 5 }],
    })),
    feeds: [feed('h1'), feed('h2')],
  };
}

async function restored(place: SnapshotPlace): Promise<readonly PipelineRecord[]> {
  const records: PipelineRecord[] = [];
  await createSnapshots({ place, logger }).restore(one => void records.push(one));
  return records;
}

interface Joined {
  readonly components: unknown[];
  readonly series: Map<string, unknown[]>;
}

/** What the records of each pipeline say together. */
function joined(records: readonly PipelineRecord[]) {
  const pipelines = new Map<string, Joined>();
  for (const { pipeline, components, feeds } of records) {
    const known: Joined = pipelines.get(pipeline) ?? { components: [], series: new Map() };
    pipelines.set(pipeline, known);
    known.components.push(...components);
    for (const { name, series, values } of feeds)
      known.series.set(name, [
        ...(known.series.get(name) ?? []),
        ...series.map((text, at) => [text, values[at]]),
      ]);
  }
  return pipelines;
}

describe.each([
  ['a file', () => snapshotFile(file())],
  ['the store', inStore],
])('a snapshot in %s', (_, place) => {
  const write = (...records: readonly PipelineRecord[]) =>
    createSnapshots({ place: place(), logger }).write(records.map(one => () => one));

  it('has all that was written, however large a pipeline is, in records that are small', async () => {
    const all = [record('large', 2500, 12_000), record('empty', 0, 0), record('small', 3, 4)];
    await write(...all);
    const found = await restored(place());
    expect(joined(found)).toEqual(joined(all));
    expect(found.every(one => one.unreachedMs === 3)).toBe(true);
    const sizes = found.map(
      ({ components, feeds: [feed] }) => components.length + (feed?.series.length ?? 0),
    );
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5000);
    expect(logged).toEqual([]);
  });

  it('takes the place of the one before, and is nothing before the first', async () => {
    expect(await restored(place())).toEqual([]);
    await write(record('a', 5, 5), record('b', 5, 5));
    await write(record('c', 1, 1));
    expect([...joined(await restored(place())).keys()]).toEqual(['c']);
    await write();
    expect(await restored(place())).toEqual([]);
  });

  it('stays as it was when the next one cannot be written', async () => {
    await write(record('a', 1, 1));
    await createSnapshots({ place: place(), logger }).write([
      () => record('b', 1, 1),
      () => {
        throw new Error('it broke');
      },
    ]);
    expect(logged).toEqual(['The snapshot cannot be written; a restart would begin with the one before']);
    expect([...joined(await restored(place())).keys()]).toEqual(['a']);
  });
});

it('is restored whole or not at all when a part in the store is damaged or missing', async () => {
  const { storage } = store;
  const write = () => createSnapshots({ place: inStore(), logger }).write([() => record('a', 2000, 30_000)]);
  await write();
  const summary = await storage.in('default').snapshots.part(0);
  const first = await storage.in('default').snapshots.part(1);
  for (const data of [
    '',
    '{}',
    '{"format":2,"parts":1,"checksum":0}',
    '{"format":1,"parts":0,"checksum":5}',
  ]) {
    await storage.transaction(tx => tx.in('default').completeSnapshot({ id: 'other', data }));
    expect(await restored(inStore())).toEqual([]);
    await storage.transaction(tx => tx.in('default').completeSnapshot({ id: 'none', data }));
  }
  for (const data of [undefined, first?.data.slice(0, 1000), 'AAAA', '']) {
    await storage.transaction(async tx => {
      await tx.in('default').removePartialSnapshots();
      if (data !== undefined) await tx.in('default').addSnapshotPart({ id: `p ${data}`, part: 1, data });
      await tx.in('default').completeSnapshot({ id: `p ${data}`, data: summary?.data ?? '' });
    });
    expect(await restored(inStore())).toEqual([]);
  }
  expect(logged).toHaveLength(8);
  await write();
  expect(joined(await restored(inStore())).size).toBe(1);
});

it('stays as it was when the store refuses the next one, and is written again afterwards', async () => {
  const snapshots = createSnapshots({ place: inStore(), logger });
  await snapshots.write([() => record('a', 1, 1)]);
  isRefusing = true;
  await snapshots.write([() => record('b', 1, 1)]);
  isRefusing = false;
  expect([...joined(await restored(inStore())).keys()]).toEqual(['a']);
  await snapshots.write([() => record('b', 1, 1)]);
  expect([...joined(await restored(inStore())).keys()]).toEqual(['b']);
});

it('is ignored when its file is cut short, of another version, or changed', async () => {
  await createSnapshots({ place: snapshotFile(file()), logger }).write([() => record('a', 3, 4)]);
  const bytes = readFileSync(file());
  const changed = Buffer.from(bytes);
  changed[60] = (changed[60] ?? 0) ^ 1;
  for (const broken of [
    bytes.subarray(0, -1),
    Buffer.from('headgate snapshot 2\n'),
    changed,
    Buffer.alloc(0),
  ]) {
    writeFileSync(file(), broken);
    expect(await restored(snapshotFile(file()))).toEqual([]);
  }
  expect(logged).toHaveLength(4);
});
