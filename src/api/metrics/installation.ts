import type { Metrics } from '../../lib/metrics.ts';
import { VERSION } from '../../lib/version.ts';
import type { House } from '../../resources/verb.ts';

/** Which version runs. */
export function describeBuild(metrics: Metrics): void {
  metrics.gauge(
    { name: 'headgate_build_info', help: '1, by the version that runs.', labels: ['version'] },
    set => set({ version: VERSION }, 1),
  );
}

/** The configuration of the installation, or that of a workspace which has its own. */
export function describeConfiguration(
  metrics: Metrics,
  { configuration, configurationStatus }: Pick<House, 'configuration' | 'configurationStatus'>,
): void {
  metrics.gauge(
    {
      name: 'headgate_configuration_ok',
      help: '1 while the files on disk are in force, 0 while they have errors.',
      labels: [],
    },
    set => set({}, configurationStatus().state === 'ok' ? 1 : 0),
  );
  metrics.gauge(
    {
      name: 'headgate_configuration_loaded_timestamp_seconds',
      help: 'When the configuration in force was read.',
      labels: [],
    },
    set => set({}, Date.parse(configuration().loadedAt) / 1000),
  );
  metrics.gauge(
    {
      name: 'headgate_configuration_warnings',
      help: 'Warnings about the configuration in force.',
      labels: [],
    },
    set => set({}, configurationStatus().warnings.length),
  );
}
