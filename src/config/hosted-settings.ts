import * as z from 'zod';
import { httpUrl } from '../lib/schemas.ts';
import { MOST_COMPONENTS } from '../pipelines/settings.ts';

/** Names with dots between them, as a host has them; `localhost` for trials. */
const DOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;

/** `hosted`: with it the installation has many workspaces, and a login service issues the tokens. */
export const hostedSchema = z.strictObject({
  cloudDomain: z
    .string()
    .max(189, 'must be at most 189 characters')
    .regex(DOMAIN, 'must be a domain such as cloud.example')
    .describe(
      'The domain below which workspaces are reached, as `https://<workspace>-<organization>.<cloudDomain>`. Needs a restart.',
    ),
  authUrl: httpUrl
    .refine(url => !/[/?#]$/.test(url) && !/[?#]/.test(url), 'must not end in / and must hold no query')
    .describe(
      'Where the login service is reached. It issues every token in this name, so a change ends all of them. Needs a restart.',
    ),
  audience: z
    .array(z.string().regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 printable characters without spaces'))
    .min(1)
    .max(100)
    .describe(
      'What programs may name as audience when they ask for a token; the API takes tokens of any of these. Needs a restart.',
    ),
  quotas: z
    .strictObject({
      pipelines: z.int().min(1).max(10_000).default(100).describe('Pipelines.'),
      targets: z.int().min(1).max(10_000).default(200).describe('Targets.'),
      notifications: z.int().min(1).max(100_000).default(1000).describe('Notifications.'),
      components: z
        .int()
        .min(1)
        .max(MOST_COMPONENTS)
        .default(10_000)
        .describe(
          'Inputs and outputs over all its pipelines, whatever their `maxComponents`; further ones are refused, those that are there stay.',
        ),
      deliveriesPerMinute: z
        .int()
        .min(1)
        .max(1_000_000)
        .default(6000)
        .describe(
          'Deliveries that are begun in any 60 seconds over all its targets, each attempt of each one counted; further ones wait their turn. Counted by the process that sends for the workspace, anew after a restart.',
        ),
    })
    .prefault({})
    .describe('How much of each a workspace may have. Needs a restart.'),
  tokenRateLimit: z
    .strictObject({
      perSecond: z
        .int()
        .min(0)
        .max(1_000_000)
        .default(5)
        .describe('Token requests a second that go on being answered; 0 switches the limit off.'),
      burst: z
        .int()
        .min(1)
        .max(1_000_000)
        .default(20)
        .describe('Token requests that are answered at once after a pause.'),
    })
    .prefault({})
    .describe(
      'Limits of token requests for each client id. Wrong secrets are slowed down by api.loginBackOff besides, for each client id and address: nobody can hold up a client of others elsewhere.',
    ),
});
export type HostedSettings = z.output<typeof hostedSchema>;
