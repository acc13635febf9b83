import * as z from 'zod';
import { duration, httpUrl, secretText } from '../lib/schemas.ts';
import { ROLES } from './permissions.ts';
import { ALGORITHMS } from './tokens/algorithms.ts';

/** How tokens are signed. */
const keySettings = {
  signingAlgorithm: z
    .enum(ALGORITHMS)
    .default('RS256')
    .describe('The algorithm of new keys; the active key signs until it is rotated.'),
  keyLifetime: duration({ min: '1d', max: '400d' })
    .prefault('90d')
    .describe('How long a key signs before it is rotated.'),
};

const ON_THIS_MACHINE = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** The provider is trusted, so nobody may be able to impersonate it. */
const issuer = httpUrl.superRefine((text, context) => {
  if (!URL.canParse(text)) return;
  const { protocol, hostname, pathname, search, hash } = new URL(text);
  const say = (message: string): void => context.addIssue({ code: 'custom', message, input: text });
  if (protocol === 'http:' && !ON_THIS_MACHINE.test(hostname))
    say('must begin with https://; http:// is for a provider on this machine only');
  if (search !== '' || hash !== '') say('must have no ? and no #');
  if (pathname.includes('/.well-known/'))
    say('must be the issuer itself, which is what stands before /.well-known/');
});

const role = z.enum(ROLES);

const groups = z.strictObject({
  default: role.default('user').describe('The role of users in no group of `mapping`.'),
  mapping: z
    .record(z.string().min(1), z.array(role).min(1))
    .default({})
    .describe("Roles of each group, by its exact name; the highest role of all the user's groups counts."),
});

const openid = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(64)
    .default('single sign-on')
    .describe("The provider's name on the sign-in page."),
  issuer: issuer
    .meta({ destination: true })
    .describe("The provider's issuer address; the rest is discovered from it."),
  client_id: z.string().min(1).max(512).describe('The client id under which Headgate is registered there.'),
  client_secret: secretText
    .optional()
    .describe('The secret of that client; without it the client is a public one.'),
  scope: z
    .string()
    .refine(text => text.split(' ').includes('openid'), "must hold 'openid'")
    .default('openid profile email')
    .describe('The requested scope; many providers need `groups` as well.'),
  audience: z.string().min(1).optional().describe('Sent along where a provider requires it.'),
  groupField: z
    .string()
    .min(1)
    .default('groups')
    .describe(
      'The claim that holds the groups of the user. A claim of exactly this name wins; else dots lead into objects, ' +
        'as in realm_access.roles.',
    ),
  groups: groups.prefault({}).describe('The roles that groups give.'),
  mode: z
    .enum(['sync', 'seed'])
    .default('sync')
    .describe('`sync`: each sign-in sets the role; `seed`: only the first one does.'),
  strict: z.boolean().default(false).describe('Refuse users in no group of `mapping`.'),
});

/** How users sign in. */
export const authSchema = z.strictObject({
  type: z
    .enum(['local', 'openid'])
    .default('local')
    .describe('`local`: with a password of this server; `openid`: with an OpenID Connect provider as well.'),
  fallback: z
    .boolean()
    .default(true)
    .describe(
      'Allow login as Local User: accept passwords of this server beside the provider. They stay accepted ' +
        'until an admin has signed in with it, or with `hosted` an owner or admin of an organization.',
    ),
  openid: openid
    .optional()
    .describe(
      'The provider, for `type: openid`. With `hosted` members sign in with it at the login service, and settings ' +
        'of groups and roles are ignored.',
    ),
  ...keySettings,
});

export type AuthSettings = z.infer<typeof authSchema>;
export type OpenidSettings = z.infer<typeof openid>;
