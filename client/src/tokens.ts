/** A token as it goes into the header Authorization. */
export interface Token {
  readonly header: string;
  /** How long it is good for from now on, in milliseconds; undefined when nobody says. */
  readonly lifetimeMs: number | undefined;
  /** Whether the server wants another password before anything else. */
  readonly mustChangePassword?: boolean;
}

/** Gets tokens and keeps the last; however many calls need one, one is asked for. */
export interface Tokens {
  /** A token that is good for a while yet. */
  current(): Promise<string>;
  /** A newer one than `refused`, which the server did not take any more. */
  after(refused: string): Promise<string>;
}

/** A token is renewed so long before its end, or in its last tenth when it is short-lived. */
const AHEAD_MS = 60_000;

export function keepTokens(obtain: () => Promise<Token>, now: () => number): Tokens {
  let kept: { readonly header: string; readonly renewAt: number } | undefined;
  let pending: Promise<string> | undefined;

  async function renew(): Promise<string> {
    const { header, lifetimeMs = Number.POSITIVE_INFINITY } = await obtain();
    kept = { header, renewAt: now() + lifetimeMs - Math.min(AHEAD_MS, lifetimeMs / 10) };
    return header;
  }

  function renewed(): Promise<string> {
    pending ??= renew().finally(() => {
      pending = undefined;
    });
    return pending;
  }

  return {
    current: async () => (kept !== undefined && now() < kept.renewAt ? kept.header : renewed()),
    after: async refused => (kept !== undefined && kept.header !== refused ? kept.header : renewed()),
  };
}

/** How long a JSON Web Token lives by its own claims, so that two clocks need not agree (RFC 7519 section 4.1). */
export function lifetimeOf(header: string): number | undefined {
  const [, payload] = header.replace(/^(Bearer\s+)+/i, '').split('.');
  if (payload === undefined) return undefined;
  try {
    const text = atob(payload.replaceAll('-', '+').replaceAll('_', '/'));
    const { exp, iat } = JSON.parse(text);
    return typeof exp === 'number' && typeof iat === 'number' ? (exp - iat) * 1000 : undefined;
  } catch {
    return undefined;
  }
}
