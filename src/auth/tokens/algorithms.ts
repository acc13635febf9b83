/** RS256 verifies several times cheaper than ES256, and a token is verified far more often than signed. */
export const ALGORITHMS = ['RS256', 'ES256'] as const;
export type Algorithm = (typeof ALGORITHMS)[number];
