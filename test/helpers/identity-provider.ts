import { createServer } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';
import { listenLocally } from '../acceptance/listen-locally.ts';

export const CLIENT = { client_id: 'headgate', client_secret: 'a secret of the client' } as const;

/** One key for all providers of a process: to make one takes long. */
const signingKey = generateKeyPair('RS256', { extractable: true }).then(({ privateKey }) =>
  exportJWK(privateKey),
);

/** A real OpenID Connect provider on loopback. Whoever signs in is called as they say; any password is right. */
export interface IdentityProvider {
  readonly issuer: string;
  /** What it tells of each user, by name. */
  readonly users: Map<string, Readonly<Record<string, unknown>>>;
  close(): Promise<void>;
}

export async function startIdentityProvider(options: {
  /** Where Headgate is reached. */
  readonly base: string;
  /** Whether claims stand in the ID token; else the userinfo endpoint has them. */
  readonly inIdToken?: boolean;
}): Promise<IdentityProvider> {
  const { base, inIdToken = false } = options;
  const users = new Map<string, Readonly<Record<string, unknown>>>();
  const server = createServer();
  const { url: issuer, end } = await listenLocally(server);
  const jwk = await signingKey;
  const provider = new Provider(issuer, {
    clients: [
      {
        ...CLIENT,
        redirect_uris: [`${base}/session/callback`],
        post_logout_redirect_uris: [`${base}/`],
      },
    ],
    jwks: { keys: [{ ...jwk, kid: 'k1', use: 'sig', alg: 'RS256' }] },
    cookies: { keys: ['a key of the test'] },
    claims: {
      openid: ['sub'],
      profile: ['preferred_username'],
      email: ['email', 'email_verified'],
      groups: ['groups'],
    },
    scopes: ['openid', 'profile', 'email', 'groups'],
    conformIdTokenClaims: !inIdToken,
    pkce: { required: () => true },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, email: `${id}@corp.example`, ...users.get(id) }),
    }),
    // Nobody is asked whether Headgate may know them.
    async loadExistingGrant(context) {
      const { client, session, provider: self } = context.oidc;
      if (client === undefined || session?.accountId === undefined) return undefined;
      const grant = new self.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope('openid profile email groups');
      await grant.save();
      return grant;
    },
  });
  server.on('request', provider.callback());
  return { issuer, users, close: end };
}
