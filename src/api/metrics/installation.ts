import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metrics } from '../../lib/metrics.ts';
import { VERSION } from '../../lib/version.ts';
import type { WorkspaceContext } from '../../resources/context.ts';

export function describeBuild(metrics: Metrics): void {
  metrics.gauge(
    { name: 'headgate_build_info', help: '1, by the version that runs.', labels: ['version'] },
    set => set({ version: VERSION }, 1),
  );
}

/** Of the installation, or of a workspace with its own configuration. */
export function describeConfiguration(
  metrics: Metrics,
  { configuration, configurationStatus }: Pick<WorkspaceContext, 'configuration' | 'configurationStatus'>,
): void {
  metrics.gauge(
    {
      name: 'headgate_configuration_ok',
      help: '1 while the files on disk are active, 0 while they have errors.',
      labels: [],
    },
    set => set({}, configurationStatus().state === 'ok' ? 1 : 0),
  );
  metrics.gauge(
    {
      name: 'headgate_configuration_loaded_timestamp_seconds',
      help: 'When the active configuration was read.',
      labels: [],
    },
    set => set({}, Date.parse(configuration().loadedAt) / 1000),
  );
  metrics.gauge(
    {
      name: 'headgate_configuration_warnings',
      help: 'Warnings about the active configuration.',
      labels: [],
    },
    set => set({}, configurationStatus().warnings.length),
  );
}

const NS_PER_SECOND = 1e9;
/** Fine enough to see delays that people notice, and cheap. */
const RESOLUTION_MS = 20;

/** Uses the names that every Prometheus dashboard knows. The returned function ends the measuring. */
export function describeProcess(metrics: Metrics, startedAt: number): () => void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const lag = (name: string, help: string, read: () => number): void =>
    metrics.gauge({ name, help, labels: [] }, set => {
      const ns = read();
      set({}, Number.isFinite(ns) ? Math.max(0, ns / NS_PER_SECOND - RESOLUTION_MS / 1000) : 0);
    });
  lag(
    'nodejs_eventloop_lag_p99_seconds',
    'How late timers were, the 99th of 100 since the last reading.',
    () => delay.percentile(99),
  );
  lag('nodejs_eventloop_lag_max_seconds', 'How late the latest timer was since the last reading.', () => {
    const { max } = delay;
    delay.reset();
    return max;
  });
  metrics.gauge(
    { name: 'nodejs_heap_size_used_bytes', help: 'Memory of the heap that is in use.', labels: [] },
    set => set({}, process.memoryUsage().heapUsed),
  );
  metrics.gauge({ name: 'process_resident_memory_bytes', help: 'Memory of the process.', labels: [] }, set =>
    set({}, process.memoryUsage.rss()),
  );
  metrics.total(
    { name: 'process_cpu_seconds_total', help: 'Processor time that the process took, threads included.' },
    () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  );
  metrics.gauge({ name: 'process_start_time_seconds', help: 'When the process started.', labels: [] }, set =>
    set({}, startedAt / 1000),
  );
  return () => delay.disable();
}
