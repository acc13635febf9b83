import { expect, it, onTestFinished } from 'vitest';
import { certificateAuthority } from '../helpers/certificates.ts';
import { type Credential, freePort } from '../helpers/hosted.ts';
import { ask, trusting } from '../helpers/https.ts';
import { createPostgresDatabase } from '../helpers/postgres.ts';
import { AUDIENCE } from '../helpers/tenants.ts';
import { tokenRequest } from '../helpers/token-calls.ts';
import { until } from '../helpers/until.ts';
import { headgate, installation, serve } from './harness.ts';

const ORGANIZATIONS = ['acme', 'corp'];

it('lets processes answer for each other over TLS, each request for the workspace it was sent to', async () => {
  const authority = certificateAuthority();
  const { cert, key } = authority.issue('server', undefined, '*.cloud.example');
  const database = await createPostgresDatabase();
  onTestFinished(database.remove);
  const loginPort = String(await freePort());
  const authUrl = `https://127.0.0.1:${loginPort}`;
  const folders = installation({
    settings: {
      api: { tls: { certPath: cert, privKeyPath: key } },
      auth: { signingAlgorithm: 'ES256' },
      hosted: { cloudDomain: 'cloud.example', authUrl, audience: [AUDIENCE] },
      storage: { url: '${env:DATABASE_URL}' },
    },
  });
  const environment = { DATABASE_URL: database.url, NODE_EXTRA_CA_CERTS: authority.cert };
  const made = async (...args: string[]): Promise<string> => {
    const end = await headgate([...args, '--config', folders.config, '--data', folders.data], environment);
    expect([args, end.code, end.stderr]).toEqual([args, 0, '']);
    return end.stdout;
  };
  const credentials: Credential[] = [];
  for (const id of ORGANIZATIONS) {
    await made('org', 'create', id, '--owner', `ann@${id}.example`, '--workspace', 'main');
    const text = await made('credentials', 'create', 'robot', '--org', id, '--role', 'admin', '--json');
    credentials.push(JSON.parse(text));
  }
  const started = { ...folders, environment };
  await serve({ ...started, command: 'serve-login', arguments: ['--port', loginPort] });
  const processes = [await serve(started), await serve(started)];
  const trusted = trusting(authority);
  const callers = await Promise.all(
    ORGANIZATIONS.map(async (id, index) => {
      const body = JSON.stringify(tokenRequest(credentials[index] ?? { clientId: '', clientSecret: '' }));
      const type = { 'content-type': 'application/json' };
      const answer = await ask(`${authUrl}/oauth/token`, { ...trusted, method: 'POST', headers: type, body });
      const host = `main-${id}.cloud.example`;
      const headers = { host, authorization: `Bearer ${JSON.parse(answer.text).access_token}` };
      return async (url: string) =>
        (await ask(`${url}/api/v1/system/inputs`, { ...trusted, servername: host, headers })).status;
    }),
  );
  const pairs = processes.flatMap(({ url }) => callers.map(call => () => call(url)));
  for (const call of pairs) await until(async () => (await call()) === 200, 'an answer');
  const all = Array.from({ length: 10 }, () => pairs).flat();
  const statuses = await Promise.all(all.map(call => call()));
  expect(statuses.filter(status => status !== 200)).toEqual([]);
});
