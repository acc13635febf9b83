import { join } from 'node:path';
import { freePort } from '../helpers/postgres-server.ts';
import type { Running } from './bin.ts';
import { answers, daemon } from './daemon.ts';
import { temporaryFolder, writeFileText } from './harness.ts';

/** Debian's Prometheus on a free port of loopback; it scrapes itself as the job `self` every second. */
export interface PrometheusServer {
  readonly url: string;
  readonly running: Running;
}

interface Options {
  /** Addresses, by the job that scrapes them. */
  readonly jobs: Readonly<Record<string, string>>;
  /** Items of `remote_write`. */
  readonly remotes?: readonly object[];
}

/** JSON is YAML. */
export async function prometheusServer({ jobs, remotes = [] }: Options): Promise<PrometheusServer> {
  const folder = temporaryFolder();
  const address = `127.0.0.1:${await freePort()}`;
  const all = Object.entries({ self: address, ...jobs });
  const configuration = {
    global: { scrape_interval: '1s', scrape_timeout: '1s' },
    scrape_configs: all.map(([job, target]) => ({
      job_name: job,
      static_configs: [{ targets: [target] }],
    })),
    remote_write: remotes,
  };
  const file = writeFileText(folder, 'prometheus.yml', JSON.stringify(configuration));
  const url = `http://${address}`;
  const running = await daemon(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
      '--log.level=error',
    ],
    () => answers(`${url}/-/ready`),
  );
  return { url, running };
}
