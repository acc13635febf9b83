import type { Problem } from '../lib/errors.ts';
import type { Origin } from './issues.ts';
import { type ConfigProblem, formatPath } from './problems.ts';
import { valueAt } from './schema-walk.ts';
import type { Settings } from './settings.ts';
import type { TlsSettings } from './tls-settings.ts';
import type { Path } from './yaml-places.ts';

/** What is taken up when the process starts and never after. */
const AT_START = [
  ['instance', 'nodeUrl'],
  ['api', 'host'],
  ['api', 'port'],
  ['storage', 'url'],
  ['storage', 'keyRing'],
  ['delivery', 'privateAddresses'],
  ['delivery', 'allowedAddresses'],
  ['hosted', 'cloudDomain'],
  ['hosted', 'authUrl'],
  ['hosted', 'audience'],
  ['hosted', 'quotas'],
  ['hosted', 'tokenRateLimit'],
];

/** Settings that wait for a restart. */
export interface Restarts {
  /** For the status: by their places in the files. */
  readonly warnings: readonly ConfigProblem[];
  /** For who changes settings: by their paths. */
  readonly notes: readonly Problem[];
}

/** A server is made for https or for http, and to ask for certificates or not. */
function tlsRestart(now: TlsSettings | undefined, atStart: TlsSettings | undefined) {
  const restart = (path: Path, until: string) => [
    { path, message: `takes effect after a restart; until then ${until}` },
  ];
  if (now === undefined && atStart === undefined) return [];
  if (now === undefined) return restart(['api', 'tls'], 'https is spoken');
  if (atStart === undefined) return restart(['api', 'tls'], 'http is spoken');
  return now.requestCert === atStart.requestCert
    ? []
    : restart(['api', 'tls', 'requestCert'], `it is ${atStart.requestCert}`);
}

/** Settings that differ from those the process started with. */
export function restartsOf(now: Settings, atStart: Settings, origin: Origin): Restarts {
  const differing = AT_START.flatMap(path => {
    const before = JSON.stringify(valueAt(atStart, path));
    if (JSON.stringify(valueAt(now, path)) === before) return [];
    return [{ path, message: `takes effect after a restart; until then it is ${before ?? 'not set'}` }];
  });
  const found = [...differing, ...tlsRestart(now.api.tls, atStart.api.tls)];
  return {
    warnings: found.map(({ path, message }) => ({ ...origin.place(path), message })),
    notes: found.map(({ path, message }) => ({ path: formatPath(path), message })),
  };
}
