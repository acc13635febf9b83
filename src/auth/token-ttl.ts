/** The longest lifetime a token may have, in seconds: 31 days. */
export const MAX_TOKEN_TTL_SECONDS = 2_678_400;
