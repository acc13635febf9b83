import * as z from 'zod';

/** A stored login, and how its server is reached. */
const profileSchema = z.strictObject({
  /** Absent where only the login service was named. */
  url: z.string().optional(),
  /** `host:port` to connect to instead of what the url names. */
  connect: z.string().optional(),
  /** The login service of a hosted deployment. */
  authUrl: z.string().optional(),
  /** Organization of commands that do not name one. */
  organization: z.string().optional(),
  /** From the last login, beginning with the word Bearer. */
  token: z.string().optional(),
  /** Epoch ms; absent where unknown. */
  expiresAt: z.number().optional(),
});
export const profilesSchema = z.strictObject({
  current: z.string(),
  profiles: z.record(z.string(), profileSchema),
});

export type LoginProfile = z.infer<typeof profileSchema>;
export type LoginProfiles = z.infer<typeof profilesSchema>;
