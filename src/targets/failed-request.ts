import { cutToBytes } from '../lib/bytes.ts';
import { MASK, withoutSecrets } from '../lib/secret.ts';
import { readable } from './http-outcome.ts';

/** What is logged of a request that did not arrive; each part of at most 2 KB, without secrets. */
export interface FailedRequest {
  readonly reason: string;
  readonly payload: string;
  /** One in each line, as `name: value`; values are masked, but those that are said to be safe. */
  readonly headers?: string;
}

interface Failed {
  readonly reason: string;
  /** Before it is compressed. */
  readonly payload: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}

interface Wish {
  readonly failedRequestLoggingMode: 'none' | 'payload' | 'payloadAndHeaders';
  readonly safeHeaders: readonly string[];
}

const MOST_BYTES = 2048;
/** Whatever a configuration says of them: they are what others could speak with in our name. */
const NEVER_SAFE: readonly string[] = ['authorization', 'webhook-signature'];

/** What the settings of a target want logged; undefined for nothing. */
export function failedRequest(
  { reason, payload, headers, secrets }: Failed,
  { failedRequestLoggingMode: mode, safeHeaders }: Wish,
): FailedRequest | undefined {
  if (mode === 'none') return undefined;
  // Masked before it is cut, so that no half of a secret is left.
  const shown = { reason, payload: readable(Buffer.from(withoutSecrets(payload, secrets)), []) };
  if (mode === 'payload') return shown;
  const safe = new Set(safeHeaders.map(name => name.toLowerCase()));
  const lines = Object.entries(headers).map(([name, value]) =>
    safe.has(name) && !NEVER_SAFE.includes(name) ? `${name}: ${value}` : `${name}: ${MASK}`,
  );
  return { ...shown, headers: cutToBytes(lines.join('\n'), MOST_BYTES) };
}
