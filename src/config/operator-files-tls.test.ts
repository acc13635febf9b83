import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { certificateAuthority } from '../../test/helpers/certificates.ts';
import { configFolder } from '../../test/helpers/config-folder.ts';
import { AppError } from '../lib/errors.ts';
import { readTls } from './operator-files.ts';
import { tlsSchema } from './settings.ts';

/** What a pair is refused for, without the folder. */
function refusalOf(given: object, folder: string): string | undefined {
  try {
    readTls(tlsSchema.parse(given), folder);
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.message.replaceAll(`${folder}/`, '');
  }
}

it('takes a certificate with its key, and says until when it holds', () => {
  const { cert, key } = certificateAuthority().issue('server');
  const { notAfter } = readTls(tlsSchema.parse({ certPath: cert, privKeyPath: key }), '/');
  expect(notAfter - Date.now()).toBeGreaterThan(86_400_000);
});

it('takes a key that the passphrase opens, and says when one is missing or wrong', () => {
  const { cert: certPath } = certificateAuthority().issue('server', 'open sesame');
  const folder = dirname(certPath);
  const given = { certPath, privKeyPath: 'server.key' };
  expect(refusalOf({ ...given, passphrase: 'open sesame' }, folder)).toBeUndefined();
  expect(refusalOf(given, folder)).toBe(
    'api.tls.passphrase: is required, as the key in server.key is encrypted',
  );
  const wrong = refusalOf({ ...given, passphrase: 'open barley' }, folder);
  expect(wrong).toBe('api.tls.passphrase: does not open the key in server.key');
  expect(wrong).not.toContain('barley');
});

it('says which file is missing, is no PEM, or does not belong to the other', () => {
  const authority = certificateAuthority();
  const { cert, key } = authority.issue('server');
  const other = authority.issue('other');
  const folder = configFolder({ 'junk.pem': 'secret nonsense\n' });
  for (const [name, path] of Object.entries({ 'c.pem': cert, 'k.pem': key, 'o.pem': other.key }))
    writeFileSync(join(folder, name), readFileSync(path));
  const good = { certPath: 'c.pem', privKeyPath: 'k.pem' };
  const rows: [object, string][] = [
    [{ certPath: 'no.pem' }, 'api.tls.certPath: there is no file no.pem'],
    [{ privKeyPath: 'no.pem' }, 'api.tls.privKeyPath: there is no file no.pem'],
    [{ caPath: 'no.pem' }, 'api.tls.caPath: there is no file no.pem'],
    [{ certPath: 'junk.pem' }, 'api.tls.certPath: junk.pem does not begin with a certificate in PEM form'],
    [{ caPath: 'junk.pem' }, 'api.tls.caPath: junk.pem does not begin with a certificate in PEM form'],
    [{ privKeyPath: 'junk.pem' }, 'api.tls.privKeyPath: junk.pem holds no private key in PEM form'],
    [
      { privKeyPath: 'o.pem' },
      'api.tls.privKeyPath: the key in o.pem is not that of the certificate in c.pem',
    ],
    [{ certPath: 'k.pem' }, 'api.tls.certPath: k.pem does not begin with a certificate in PEM form'],
  ];
  expect(rows.map(([change]) => refusalOf({ ...good, ...change }, folder))).toEqual(
    rows.map(([, message]) => message),
  );
});
