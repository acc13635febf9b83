import { type ApiServer, JSON_BODY } from '../api/api-server.ts';
import { CLIENT, type IdentityProvider } from './identity-provider.ts';

/** Sets the provider up in a running server, as an admin would. Answers the status and what was refused. */
export async function connectProvider(
  server: ApiServer,
  { issuer }: Pick<IdentityProvider, 'issuer'>,
  { openid = {}, ...auth }: { readonly openid?: object; readonly fallback?: boolean } = {},
): Promise<{ readonly status: number; readonly code: string | undefined }> {
  const groups = { mapping: { admins: ['admin'], readers: ['reader'] } };
  const scope = 'openid profile email groups';
  const { status, text } = await server.call('PATCH', '/api/v1/system/settings/conf', {
    headers: [['authorization', server.token], JSON_BODY],
    body: JSON.stringify({
      instance: { externalUrl: server.url },
      auth: {
        type: 'openid',
        ...auth,
        openid: { name: 'Corp', issuer, ...CLIENT, scope, groups, ...openid },
      },
    }),
  });
  return { status, code: JSON.parse(text).code };
}
