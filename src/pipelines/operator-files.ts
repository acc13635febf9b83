import type { ClientTls } from '../lib/client-tls.ts';
import type { Cancel } from '../lib/clock.ts';
import type { TlsSettings } from './settings.ts';

/** A file of data: what it holds, undefined when it holds nothing; or why it cannot be read. */
export type DataFile = { readonly value: unknown } | { readonly error: string };

/** What settings of pipelines refer to on the operator's disk. Relative paths begin at the folder of the configuration. */
export interface OperatorFiles {
  /** As the files are now. With a fault beside it what was read before goes on; without `tls` there is nothing to go on with. */
  tls(settings: TlsSettings): { readonly tls: ClientTls | undefined; readonly fault: string | undefined };
  /** Hands over the files at once, then whenever one changes, until the returned call. */
  watch(paths: readonly string[], take: (files: ReadonlyMap<string, DataFile>) => void): Cancel;
}
