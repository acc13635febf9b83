import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Files of a certificate and its key. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** Signs certificates, and is trusted by whoever knows its own. */
export interface Authority extends Pair {
  /**
   * A certificate for 127.0.0.1, localhost and the hosts that are given, for servers and clients; its key is encrypted
   * when a text is given.
   */
  issue(name: string, passphrase?: string, ...hosts: readonly string[]): Pair;
}

const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'pipe' });
const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];

/** A new authority in a folder that goes when the test has finished, or with what `finished` waits for. */
export function certificateAuthority(
  name = 'the authority',
  finished: (remove: () => void) => void = onTestFinished,
): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-certificates-'));
  finished(() => rmSync(folder, { recursive: true, force: true }));
  const file = (text: string): string => join(folder, text);
  const [cert, key] = [file('ca.pem'), file('ca.key')];
  openssl(
    'req',
    '-x509',
    ...CURVE,
    '-nodes',
    '-days',
    '2',
    '-subj',
    `/CN=${name}`,
    '-keyout',
    key,
    '-out',
    cert,
  );
  return {
    cert,
    key,
    issue(common, passphrase, ...hosts) {
      const names = ['IP:127.0.0.1', ...['localhost', ...hosts].map(host => `DNS:${host}`)];
      const pair = { cert: file(`${common}.pem`), key: file(`${common}.key`) };
      const encryption = passphrase === undefined ? ['-nodes'] : ['-passout', `pass:${passphrase}`];
      openssl(
        ...['req', '-x509', ...CURVE, ...encryption, '-days', '2', '-subj', `/CN=${common}`],
        ...['-addext', `subjectAltName=${names.join(',')}`, '-addext', 'basicConstraints=critical,CA:FALSE'],
        ...['-CA', cert, '-CAkey', key, '-keyout', pair.key, '-out', pair.cert],
      );
      return pair;
    },
  };
}
