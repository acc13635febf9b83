import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';
import { listenLocally } from '../../test/acceptance/listen-locally.ts';
import { providerSetup } from './provider-setup.ts';

/** Issues access tokens as JWT for client credentials, from memory. Argument: a file with its setup. */
const { algorithm, key, kid, client, audience, scope } = providerSetup.parse(
  JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')),
);
const DAY_SECONDS = 86_400;
const server = createServer();
const { url } = await listenLocally(server);
const provider = new Provider(url, {
  clients: [
    {
      client_id: client.id,
      client_secret: client.secret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_post',
      scope,
    },
  ],
  jwks: { keys: [{ ...key, kid, use: 'sig', alg: algorithm }] },
  clientDefaults: { id_token_signed_response_alg: algorithm },
  cookies: { keys: ['a key of the measurement'] },
  scopes: scope.split(' '),
  // What a token of Headgate's says besides.
  extraTokenClaims: () => ({ org: 'acme', role: 'user', cv: 0 }),
  ttl: { ClientCredentials: DAY_SECONDS },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({
        scope,
        audience,
        accessTokenTTL: DAY_SECONDS,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: algorithm, kid } },
      }),
    },
  },
});
server.on('request', provider.callback());
process.stdout.write(`ready on ${url}\n`);
