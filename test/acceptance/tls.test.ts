import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { certificateAuthority } from '../helpers/certificates.ts';
import { type AskOptions, ask, showing, trusting } from '../helpers/https.ts';
import { createPostgresDatabase } from '../helpers/postgres.ts';
import {
  ADMIN_PASSWORD,
  headgate,
  installation,
  serve,
  sink,
  stop,
  temporaryFolder,
  until,
  webhook,
} from './harness.ts';

const JSON_BODY = { 'content-type': 'application/json' };

it('says https when it is ready, and the command line trusts the authority it is told of', async () => {
  const authority = certificateAuthority();
  const { cert, key } = authority.issue('server');
  const folders = installation({ settings: { api: { tls: { certPath: cert, privKeyPath: key } } } });
  const server = await serve(folders);
  expect(server.url).toMatch(/^https:/);
  const home = { HOME: folders.root, XDG_CONFIG_HOME: folders.root };
  const login = ['login', '--url', server.url];
  const refused = await headgate(login, home, `${ADMIN_PASSWORD}\n`);
  expect(refused.stderr).toContain('unable to verify the first certificate');
  const trusted = { ...home, NODE_EXTRA_CA_CERTS: authority.cert };
  expect((await headgate(login, trusted, `${ADMIN_PASSWORD}\n`)).stderr).toBe('');
  expect((await headgate(['whoami'], trusted)).stdout).toContain('admin');
  await stop(server);
});

it('lets processes answer for each other over TLS, each with its own certificate', async () => {
  const authority = certificateAuthority();
  const { url, remove } = await createPostgresDatabase();
  onTestFinished(remove);
  const keyRing = join(temporaryFolder(), 'keys');
  const start = (name: string) => {
    const { cert, key } = authority.issue(name);
    const tls = { certPath: cert, privKeyPath: key, caPath: authority.cert, requestCert: true };
    const folders = installation({
      settings: {
        api: { tls },
        storage: { url: '${env:DATABASE_URL}', keyRing },
        pipelines: [{ id: 'edge', engine: 'custom', push: true, token: 'token-of-edge' }],
      },
    });
    const environment = {
      HEADGATE_ADMIN_PASSWORD: ADMIN_PASSWORD,
      DATABASE_URL: url,
      NODE_EXTRA_CA_CERTS: authority.cert,
    };
    return serve({ ...folders, environment });
  };
  const first = await start('first');
  await until(() => first.records().some(({ msg }) => msg === 'this process leads'), 'a leader');
  const second = await start('second');
  const client = { ...trusting(authority), ...showing(authority.issue('client')) };
  const call = (path: string, options: AskOptions) => ask(`${second.url}${path}`, { ...client, ...options });

  const samples = {
    temporality: 'delta',
    samples: [{ kind: 'input', type: 'syslog', id: 'app', metric: 'in_events', value: 7 }],
  };
  const push = { method: 'POST', headers: { ...JSON_BODY, authorization: 'Bearer token-of-edge' } };
  const pushed = await call('/ingest/samples', { ...push, body: JSON.stringify(samples) });
  expect(pushed).toMatchObject({ status: 200, text: '{"accepted":1}' });
  const credentials = JSON.stringify({ username: 'admin', password: ADMIN_PASSWORD });
  const login = await call('/api/v1/auth/login', { method: 'POST', headers: JSON_BODY, body: credentials });
  const { token } = JSON.parse(login.text);
  const inputs = await call('/api/v1/system/inputs', { headers: { authorization: token } });
  expect(JSON.parse(inputs.text).items).toMatchObject([{ id: 'app', status: { metrics: { in_events: 7 } } }]);
});

it('tells that its own certificate ends soon', async () => {
  const authority = certificateAuthority();
  const { cert, key } = authority.issue('server');
  const hook = await sink();
  const folders = installation({
    settings: { api: { tls: { certPath: cert, privKeyPath: key } } },
    notifications: {
      targets: [webhook('hook', hook)],
      notifications: [
        { id: 'certificates', condition: 'certificate-expiration', targets: ['hook'], conf: {} },
      ],
    },
  });
  const server = await serve(folders);
  await until(() => hook.events().length > 0, 'the alarm of the certificate');
  expect(hook.events().map(({ _raw }) => _raw)).toEqual([
    expect.stringMatching(/^Certificate server expires in 1d \d+h$/),
  ]);
  await stop(server);
});
