import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import type { ClientTls } from '../lib/client-tls.ts';
import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { OperatorFiles } from '../pipelines/operator-files.ts';
import type { TlsSettings } from '../pipelines/settings.ts';
import { readDataFile } from './data-file.ts';
import { pemFiles, readPem } from './pem.ts';
import { isSameFiles, type Signatures, signaturesOf, watchFiles } from './watch.ts';

interface Options {
  /** What paths are relative to. */
  readonly folder: string;
  readonly clock: Pick<Clock, 'after'>;
}

/** The files that settings of pipelines name. They count as they are now, and never stop a configuration. */
export function createOperatorFiles({ folder, clock }: Options): OperatorFiles {
  return {
    tls: tlsReader(folder),
    watch(paths, take) {
      const files = paths.map(path => resolve(folder, path));
      let seen = signaturesOf(files);
      const read = (): void => {
        seen = signaturesOf(files);
        take(new Map(paths.map(path => [path, readDataFile(path, folder)])));
      };
      const within = (place: string): Signatures =>
        new Map([...seen].filter(([file]) => dirname(file) === place));
      read();
      const cancels = [...new Set(files.map(dirname))].map(place =>
        watchFiles({ folder: place, seen: () => within(place), clock, changed: read }),
      );
      return () => {
        for (const cancel of cancels) cancel();
      };
    },
  };
}

const NONE = 'files cannot be named here';

/** For workspaces whose settings may name no file: should one be named all the same, none is read. */
export const NO_OPERATOR_FILES: OperatorFiles = {
  tls: () => ({ tls: undefined, fault: NONE }),
  watch(paths, take) {
    take(new Map(paths.map(path => [path, { error: NONE }])));
    return () => {};
  },
};

/** Reads files of `tls` again when they change. A pair of which only one half was replaced so far leaves the one of before. */
function tlsReader(folder: string): OperatorFiles['tls'] {
  const known = new WeakMap<
    TlsSettings,
    { seen: Signatures; tls: ClientTls | undefined; fault: string | undefined }
  >();
  return settings => {
    const before = known.get(settings);
    const seen = signaturesOf(pemFiles(settings, folder));
    if (before !== undefined && isSameFiles(before.seen, seen)) return before;
    const read = { seen, ...readClientTls(settings, folder) };
    const now = { ...read, tls: read.tls ?? before?.tls };
    known.set(settings, now);
    return now;
  };
}

/** What is shown and trusted by the settings, or what is wrong with their files. */
export function readClientTls(
  settings: TlsSettings,
  folder: string,
): { readonly tls: ClientTls | undefined; readonly fault: string | undefined } {
  try {
    const { leaf: _, ...pem } = readPem(settings, { path: 'tls', folder });
    const fingerprint = createHash('sha256').update(JSON.stringify(pem)).digest('hex');
    return { tls: { ...pem, fingerprint }, fault: undefined };
  } catch (error) {
    return { tls: undefined, fault: reasonOf(error) };
  }
}
