import { dirname } from 'node:path';
import type { SecureContextOptions } from 'node:tls';
import { readTls, type TlsMaterial, tlsFiles } from '../config/operator-files.ts';
import type { ApiTlsSettings } from '../config/settings.ts';
import { type Signatures, signaturesOf, watchFiles } from '../config/watch.ts';
import type { Cancel, Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createTlsServers, type TlsServers } from '../lib/tls-servers.ts';

export interface TlsOptions {
  /** Paths are relative to it. */
  readonly folder: string;
  /** The active ones; undefined once they were removed, which takes effect after a restart. */
  readonly settings: () => ApiTlsSettings | undefined;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The certificate in use. */
export interface Tls {
  readonly create: TlsServers['create'];
  /** For connections in which this process is a client that must show a certificate. */
  identity(): SecureContextOptions;
  /** End of the certificate's validity in epoch ms. */
  notAfter(): number;
  /** Reads the files again, by the active settings. */
  reload(): void;
  readonly stop: () => Promise<void>;
}

/**
 * Reads the certificate and watches its files: a valid pair replaces the one in use, an invalid pair is ignored. Undefined without `api.tls`. Throws `invalid-request` when the first pair is bad.
 */
export function startTls(options: TlsOptions): Tls | undefined {
  const { folder, settings, clock, logger, metrics } = options;
  let inUse: InUse | undefined;
  describeCertificate(metrics, () => inUse);
  const first = settings();
  if (first === undefined) return undefined;
  let seen = signaturesOf(tlsFiles(first, folder));
  let used = readTls(first, folder);
  inUse = { used, isCurrent: true };
  const servers = createTlsServers(used.context, first.requestCert);
  logCertificate(used, options);

  function reload(): void {
    const now = settings();
    if (now === undefined) return;
    seen = signaturesOf(tlsFiles(now, folder));
    try {
      const next = readTls(now, folder);
      servers.setContext(next.context);
      if (next.fingerprint !== used.fingerprint || inUse?.isCurrent === false) logCertificate(next, options);
      used = next;
      inUse = { used, isCurrent: true };
    } catch (error) {
      if (inUse?.isCurrent === true)
        logger.error({ reason: reasonOf(error) }, 'the new certificate cannot be used; the old one stays');
      inUse = { used, isCurrent: false };
    }
    watch();
  }

  let watched = '';
  let unwatch: Cancel = () => {};
  function watch(): void {
    const place = dirname([...seen.keys()][0] ?? folder);
    if (place === watched) return;
    unwatch();
    watched = place;
    unwatch = watchFiles({ folder: place, seen: (): Signatures => seen, clock, changed: reload });
  }

  watch();
  return {
    create: servers.create,
    identity: () => used.context,
    notAfter: () => used.notAfter,
    reload,
    stop: async () => unwatch(),
  };
}

function logCertificate({ notAfter, fingerprint }: TlsMaterial, { clock, logger }: TlsOptions): void {
  const fields = { notAfter: new Date(notAfter).toISOString(), fingerprint };
  if (notAfter > clock.now()) logger.info(fields, 'certificate in use');
  else logger.warn(fields, 'the certificate in use is over, so that clients refuse it; replace it');
}

interface InUse {
  readonly used: TlsMaterial;
  readonly isCurrent: boolean;
}

function describeCertificate(metrics: Metrics, inUse: () => InUse | undefined): void {
  metrics.gauge(
    {
      name: 'headgate_tls_certificate_not_after_seconds',
      help: 'Until when the certificate in use holds.',
      labels: [],
    },
    set => {
      const now = inUse();
      if (now !== undefined) set({}, now.used.notAfter / 1000);
    },
  );
  metrics.gauge(
    {
      name: 'headgate_tls_certificate_ok',
      help: '1 while the certificate files on disk are in use, 0 while they cannot be and older ones are.',
      labels: [],
    },
    set => {
      const now = inUse();
      if (now !== undefined) set({}, now.isCurrent ? 1 : 0);
    },
  );
}
