import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { reasonOf } from '../lib/errors.ts';
import { pemFiles, readPem, refusal } from './pem.ts';
import type { TlsSettings } from './tls-settings.ts';

/** A certificate and its key that were found to fit, as Node takes them. */
export interface TlsMaterial {
  readonly context: SecureContextOptions;
  /** Epoch ms until which the certificate holds. */
  readonly notAfter: number;
  /** SHA-256 of the certificate. */
  readonly fingerprint: string;
}

/** The files behind the settings, as absolute paths. */
export const tlsFiles = (settings: TlsSettings, folder: string): string[] => pemFiles(settings, folder);

/**
 * Reads the files and checks that they can be used together. Throws `invalid-request`, which names the setting and what
 * is wrong with its file, and shows nothing of what the file holds.
 */
export function readTls(settings: TlsSettings, folder: string): TlsMaterial {
  const place = { path: 'api.tls', folder };
  const { leaf, ...pem } = readPem(settings, place);
  const { minVersion, maxVersion, certPath } = settings;
  const context = { ...pem, minVersion, maxVersion };
  try {
    createSecureContext(context);
  } catch (error) {
    throw refusal(place, 'certPath', `${certPath} cannot be used: ${reasonOf(error)}`);
  }
  return {
    context,
    notAfter: Date.parse(leaf?.validTo ?? ''),
    fingerprint: leaf?.fingerprint256 ?? '',
  };
}
