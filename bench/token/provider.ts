import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import { run } from '../../test/acceptance/bin.ts';
import { until } from '../../test/helpers/until.ts';
import { bundle } from '../delivery/bundle.ts';
import { temporaryFolder } from '../delivery/temporary.ts';
import { type Algorithm, AUDIENCE, type LoginService, SCOPE } from './login-service.ts';
import type { ProviderSetup } from './provider-setup.ts';

/** oidc-provider, which keeps nothing, with one client that gets tokens of the same size. */
export async function startProvider(algorithm: Algorithm): Promise<LoginService> {
  const folder = temporaryFolder();
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const client = { id: randomBytes(16).toString('hex'), secret: randomBytes(27).toString('hex') };
  const setup: ProviderSetup = {
    algorithm,
    key: await exportJWK(privateKey),
    kid: randomBytes(32).toString('base64url'),
    client,
    audience: AUDIENCE,
    scope: SCOPE,
  };
  const file = join(folder, 'setup.json');
  writeFileSync(file, JSON.stringify(setup), { mode: 0o600 });
  const script = await bundle(join(import.meta.dirname, 'provider-process.ts'), folder);
  const running = run(process.execPath, [script, file], { NODE_ENV: 'production' });
  const url = () => /^ready on (\S+)$/m.exec(running.stdout())?.[1];
  await until(() => url() !== undefined, 'a ready provider');
  const origin = url() ?? '';
  return {
    name: 'oidc-provider',
    pid: running.pid,
    url: origin,
    tokenPath: '/token',
    keysPath: '/jwks',
    issuer: origin,
    form: {
      grant_type: 'client_credentials',
      client_id: client.id,
      client_secret: client.secret,
      resource: AUDIENCE,
      scope: SCOPE,
    },
    end: running.kill,
  };
}
