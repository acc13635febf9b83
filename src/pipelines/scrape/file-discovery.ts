import * as z from 'zod';
import { metricsPathOf } from '../engines/index.ts';
import type { DataFile, PullSettings } from '../settings.ts';

/** A page to read, and the name of the instance behind it. */
export interface DiscoveredInstance {
  readonly url: string;
  readonly name: string;
}

/** Pages one pipeline reads at most. */
export const MAX_INSTANCES = 5000;
const LONGEST_NAME = 256;

/** The format of Prometheus' `file_sd_configs` (prometheus.io/docs, configuration, file_sd_config). */
const groups = z
  .array(
    z.strictObject({
      targets: z.array(z.string().min(1).max(LONGEST_NAME)),
      labels: z.record(z.string().max(LONGEST_NAME), z.string().max(4096)).default({}),
    }),
  )
  .max(MAX_INSTANCES);

export interface DiscoveredInstances {
  readonly instances: readonly DiscoveredInstance[];
  /** Reasons why files cannot be used as a whole. */
  readonly faults: readonly string[];
}

/** Reads the lists of one pipeline: a file that cannot be read leaves the instances it had before. */
export function createFileDiscovery(
  engine: PullSettings['engine'],
): (files: ReadonlyMap<string, DataFile>) => DiscoveredInstances {
  const lists = new Map<string, readonly DiscoveredInstance[]>();
  return files => {
    const faults: string[] = [];
    for (const [path, file] of files) {
      const read = 'error' in file ? file : readInstances(file.value, engine);
      if ('error' in read) faults.push(`${path}: ${read.error}`);
      else lists.set(path, read.instances);
    }
    const instances = withNames([...lists.values()].flat());
    if (instances.length > MAX_INSTANCES)
      faults.push(
        `${instances.length} instances are listed, and the first ${MAX_INSTANCES} are read; divide them among pipelines`,
      );
    return { instances: instances.slice(0, MAX_INSTANCES), faults };
  };
}

type Read = { readonly instances: readonly DiscoveredInstance[] } | { readonly error: string };

function readInstances(value: unknown, engine: string): Read {
  if (value === undefined || value === null)
    return { error: 'holds nothing; write [] where there is no instance' };
  const parsed = groups.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { error: `is no list of targets with labels: ${issue?.path.join('.')}: ${issue?.message}` };
  }
  const instances: DiscoveredInstance[] = [];
  for (const { targets: addresses, labels } of parsed.data)
    for (const address of addresses) {
      const url = urlOf(address, labels, engine);
      if (url === undefined)
        return {
          error: `'${address}' with its labels makes no address; write host:port, and http or https as __scheme__`,
        };
      instances.push({ url, name: (labels.instance || address).slice(0, LONGEST_NAME) });
    }
  return { instances };
}

const PARAMETER = '__param_';

function urlOf(
  address: string,
  labels: Readonly<Record<string, string>>,
  engine: string,
): string | undefined {
  const { __scheme__: scheme = 'http', __metrics_path__: path = metricsPathOf(engine) } = labels;
  const text = `${scheme}://${address}${path}`;
  if (!/^https?$/.test(scheme) || !/^[^/?#@\\\s]+$/.test(address) || !path.startsWith('/')) return undefined;
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  for (const [label, value] of Object.entries(labels))
    if (label.startsWith(PARAMETER)) url.searchParams.append(label.slice(PARAMETER.length), value);
  return url.href;
}

/** Each url once. A second one of the same name is named by its address. */
function withNames(instances: readonly DiscoveredInstance[]): DiscoveredInstance[] {
  const byUrl = new Map(instances.map(one => [one.url, one]));
  const names = new Set<string>();
  return [...byUrl.values()].flatMap(({ url, name }) => {
    const free = names.has(name) ? addressOf(url) : name;
    if (names.has(free)) return [];
    names.add(free);
    return [{ url, name: free }];
  });
}

function addressOf(url: string): string {
  const { host, pathname, search } = new URL(url);
  return `${host}${pathname}${search}`.slice(0, LONGEST_NAME);
}
