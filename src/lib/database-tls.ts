/** The levels of encryption that a connection to PostgreSQL may ask for (its manual, 34.19). */
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'];
const LIST = SSL_MODES.join(', ');

/**
 * Why the `sslmode` of a database's URL is refused, with the remedy; undefined where it is none or left out. `allow` and
 * `prefer` go on without encryption when somebody in between asks for that, and a check of the authority alone is worth
 * something only where the authority is one's own.
 */
export function sslModeProblem(url: URL): string | undefined {
  const mode = sslModeOf(url);
  if (mode === undefined) return undefined;
  if (mode === 'allow' || mode === 'prefer')
    return `must not have sslmode=${mode}, with which the connection may be unencrypted unnoticed; write one of ${LIST}`;
  if (!SSL_MODES.includes(mode)) return `must have one of ${LIST} as sslmode`;
  if (mode === 'verify-ca' && (url.searchParams.get('sslrootcert') ?? '') === '')
    return 'must name the file of the authority by sslrootcert with sslmode=verify-ca; with the authorities that everybody trusts, write verify-full';
  return undefined;
}

/** The last one counts, as for the client. */
export const sslModeOf = (url: URL): string | undefined => url.searchParams.getAll('sslmode').at(-1);
