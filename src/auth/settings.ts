import * as z from 'zod';
import { duration, httpUrl, secretText } from '../lib/schemas.ts';
import { ROLES } from './permissions.ts';
import { ALGORITHMS } from './tokens/keys.ts';

/** How tokens are signed. */
const keySettings = {
  signingAlgorithm: z
    .enum(ALGORITHMS)
    .default('RS256')
    .describe('What new keys sign tokens with; the present one signs on until it is turned.'),
  keyLifetime: duration({ min: '1d', max: '400d' })
    .prefault('90d')
    .describe('How long a key signs before the next one takes its place.'),
};

const ON_THIS_MACHINE = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** What comes from the provider is believed, so nobody may be able to speak in its place. */
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
  default: role.default('user').describe('The role of whoever is in no group of `mapping`.'),
  mapping: z
    .record(z.string().min(1), z.array(role).min(1))
    .default({})
    .describe(
      'Roles of each group, whose names count as they are written; the highest of all that fit holds.',
    ),
});

const openid = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(64)
    .default('single sign-on')
    .describe('How the provider is called where people sign in.'),
  issuer: issuer
    .meta({ destination: true })
    .describe('The address by which the provider calls itself; the rest is discovered from it.'),
  client_id: z.string().min(1).max(512).describe('As which client Headgate is registered there.'),
  client_secret: secretText
    .optional()
    .describe('The secret of that client; without it the client is a public one.'),
  scope: z
    .string()
    .refine(text => text.split(' ').includes('openid'), "must hold 'openid'")
    .default('openid profile email')
    .describe('What is asked for; many providers want `groups` as well.'),
  audience: z.string().min(1).optional().describe('Sent along where a provider asks for it.'),
  groupField: z.string().min(1).default('groups').describe('The claim that holds the groups of the user.'),
  groups: groups.prefault({}).describe('Which role whose groups give.'),
  mode: z
    .enum(['sync', 'seed'])
    .default('sync')
    .describe('`sync`: each sign-in sets the role anew; `seed`: only the first one does.'),
  strict: z.boolean().default(false).describe('Whether those are refused who are in no group of `mapping`.'),
});

/** How people come in. */
export const authSchema = z.strictObject({
  type: z
    .enum(['local', 'openid'])
    .default('local')
    .describe('`local`: with a password of this server; `openid`: with an OpenID Connect provider as well.'),
  fallback: z
    .boolean()
    .default(true)
    .describe(
      'Allow login as Local User: whether passwords of this server count beside the provider. They go on to count ' +
        'until an admin has signed in with it, or with `hosted` an owner or admin of an organization.',
    ),
  openid: openid
    .optional()
    .describe(
      'The provider, for `type: openid`. With `hosted` it is the members’ at the login service, and what is said here ' +
        'of groups and roles counts for nothing.',
    ),
  ...keySettings,
});

export type AuthSettings = z.infer<typeof authSchema>;
export type OpenidSettings = z.infer<typeof openid>;
