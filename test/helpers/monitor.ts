import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/lib/logger.ts';
import type { ObservedClock } from '../../src/lib/observed-clock.ts';
import type { Component, ComponentStatus } from '../../src/pipelines/components/component.ts';
import { createMonitor, type Monitor, type MonitorOptions } from '../../src/pipelines/monitor.ts';
import { pipelineSchema } from '../../src/pipelines/settings.ts';
import { snapshotFile } from '../../src/pipelines/snapshot/file.ts';
import { observedClockOf, type TestClock, testClock } from './clock.ts';
import { idsAtOnce } from './component-ids.ts';
import { type Pages, type Served, testPages } from './pages.ts';

/** Where the pipelines of these tests are read. */
export const URL_OF = (id: string): string => `http://${id}.test/metrics`;

/** A monitor over pages and a clock that tests move. */
export interface Bench {
  readonly clock: TestClock;
  /** The one that the monitor measures with. */
  readonly observedClock: ObservedClock;
  readonly pages: Pages;
  readonly monitor: Monitor;
  readonly folder: string;
  /** What was counted as gone wrong, in order: `unread edge timeout`. */
  readonly metered: readonly string[];
  configure(...pipelines: object[]): void;
  /** Puts the page there and lets one interval of 10 s pass. */
  scrape(page: Served, id?: string): Promise<void>;
  find(engineId: string): Component;
  status(engineId: string): ComponentStatus;
  /** Stops it and starts another on the same folder, after a time in which nothing ran; without a snapshot if asked. */
  restart(downMs?: number, snapshot?: boolean): Promise<void>;
}

export const vectorAt = (id: string): object => ({ id, engine: 'vector', url: URL_OF(id) });

/** For pipelines whose settings refer to no file. */
export const NO_FILES: MonitorOptions['files'] = {
  tls: () => ({ tls: undefined, fault: 'there are no files here' }),
  watch: () => () => {},
};

export const startBench = (...pipelines: object[]): Promise<Bench> => startBenchWith({}, ...pipelines);

/** The same with other parts, such as files or a log. */
export async function startBenchWith(
  other: Partial<Pick<MonitorOptions, 'files' | 'logger' | 'meter' | 'quotas'>>,
  ...pipelines: object[]
): Promise<Bench> {
  const metered: string[] = [];
  const note =
    (kind: string) =>
    (...about: string[]): void =>
      void metered.push([kind, ...about].join(' '));
  const clock = testClock();
  const observedClock = observedClockOf(clock);
  const pages = testPages();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-pipelines-'));
  const ids = idsAtOnce();
  const create = (): Monitor =>
    createMonitor({
      http: pages,
      clock: observedClock,
      logger: silentLogger,
      snapshot: snapshotFile(join(folder, 'snapshot')),
      random: () => 0.5,
      ids,
      files: NO_FILES,
      meter: { scrapeFailed: note('unread'), refused: note('refused'), rejected: note('rejected') },
      ...other,
    });
  let monitor = create();
  let configured = pipelines;
  const configure = (...items: object[]): void => {
    configured = items;
    monitor.configure(items.map(item => pipelineSchema.parse(item)));
  };
  configure(...pipelines);
  await monitor.start();

  function find(engineId: string): Component {
    const found = monitor.components.all().find(component => component.engineId === engineId);
    if (found === undefined) throw new Error(`no component ${engineId}`);
    return found;
  }

  return {
    clock,
    observedClock,
    pages,
    folder,
    metered,
    configure,
    find,
    get monitor() {
      return monitor;
    },
    status: engineId => monitor.components.status(find(engineId)),
    async scrape(page, id = 'edge') {
      pages.serve(URL_OF(id), page);
      await clock.advance(10_000);
    },
    async restart(downMs = 0, snapshot = true) {
      await monitor.stop();
      if (!snapshot) rmSync(join(folder, 'snapshot'));
      await clock.advance(downMs);
      monitor = create();
      configure(...configured);
      await monitor.start();
    },
  };
}
