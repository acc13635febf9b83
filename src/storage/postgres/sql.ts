/** The server's own clock in milliseconds, which goes on within a transaction. */
export const SERVER_CLOCK = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

/** The same statement with `$1`, `$2` and so on in place of each `?`. It must hold no `?` within a literal. */
export function numberPlaceholders(sql: string): string {
  let last = 0;
  return sql.replace(/\?/g, () => {
    last += 1;
    return `$${last}`;
  });
}

/** PostgreSQL refuses U+0000 in texts; it is kept as U+FFFD, as half a surrogate pair is by every dialect. */
export const toStoredText = <Value>(value: Value): Value | string =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
