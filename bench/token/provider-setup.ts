import * as z from 'zod';

/** What the process of the provider is told. */
export const providerSetup = z.object({
  algorithm: z.enum(['RS256', 'ES256']),
  /** Private, as JWK. */
  key: z.record(z.string(), z.unknown()),
  kid: z.string(),
  client: z.object({ id: z.string(), secret: z.string() }),
  audience: z.string(),
  scope: z.string(),
});
export type ProviderSetup = z.input<typeof providerSetup>;
