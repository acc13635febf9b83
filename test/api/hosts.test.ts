import { readFileSync } from 'node:fs';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { type Authority, certificateAuthority } from '../helpers/certificates.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';
import { until } from '../helpers/until.ts';

/** A hosted installation with the workspaces main-acme and main-corp. */
async function hosted(api: object = {}): Promise<HostedApp> {
  const app = await startHostedApp({ clock: systemClock, settings: { api } });
  onTestFinished(() => app.stop());
  return app;
}

/** Sends requests one after the other over one connection, and answers their statuses. */
async function statusesOver(socket: Socket, heads: readonly (readonly string[])[]): Promise<number[]> {
  let answer = '';
  const statuses = () => [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  socket.setEncoding('latin1').on('data', part => {
    answer += part;
  });
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  for (const [index, head] of heads.entries()) {
    socket.write([...head, '', ''].join('\r\n'));
    await until(() => statuses().length > index || socket.closed, 'the answer');
  }
  return statuses();
}

/** Without a token, so that whoever comes to a workspace is answered 401. */
const asking = (host: string, ...more: readonly string[]): string[] => [
  'GET /api/v1/system/inputs HTTP/1.1',
  `Host: ${host}`,
  ...more,
];

describe('over TLS', () => {
  async function encrypted(api: object = {}) {
    const authority: Authority = certificateAuthority();
    const { cert, key } = authority.issue('server');
    const { port } = await hosted({ ...api, tls: { certPath: cert, privKeyPath: key } });
    const ca = readFileSync(authority.cert);
    /** Over a connection that asks for the certificate of a name, which stands for every host below it. */
    return (servername: string | undefined, ...heads: readonly (readonly string[])[]) => {
      const shown = { ca, checkServerIdentity: () => undefined };
      const name = servername === undefined ? {} : { servername };
      return statusesOver(connect({ host: '127.0.0.1', port, ...shown, ...name }), heads);
    };
  }

  it('a connection for one workspace answers for no other', async () => {
    const send = await encrypted();
    const acme = 'main-acme.localhost';
    expect(await send(acme, asking(acme), asking('main-corp.localhost'), asking(acme))).toEqual([
      401, 421, 401,
    ]);
    for (const line of [
      'GET /api/v1/health',
      'GET /session',
      'POST /ingest/samples',
      'GET /',
      'GET /nothing',
    ])
      expect([line, await send(acme, [`${line} HTTP/1.1`, 'Host: main-corp.localhost'])]).toEqual([
        line,
        [421],
      ]);
  });

  it('case, port and a dot at the end make no other name of it', async () => {
    const send = await encrypted();
    expect(await send('main-ACME.localhost', asking('Main-Acme.localhost.:9000'))).toEqual([401]);
    expect(await send('main-acme.localhost', asking('main-acme.localhost:1'))).toEqual([401]);
  });

  it('a connection that names no workspace answers for each', async () => {
    const send = await encrypted();
    const both = [asking('main-acme.localhost'), asking('main-corp.localhost')];
    expect(await send(undefined, ...both)).toEqual([401, 401]);
    expect(await send('localhost', ...both)).toEqual([401, 401]);
    expect(await send('main-acme.localhost', asking('nowhere.localhost'))).toEqual([404]);
  });

  it('a trusted proxy says which host is meant, and nobody else', async () => {
    const forwarded = asking('main-acme.localhost', 'X-Forwarded-Host: main-corp.localhost');
    const behind = await encrypted({ trustedProxies: ['127.0.0.1'] });
    expect(await behind('main-acme.localhost', forwarded)).toEqual([401]);
    const open = await encrypted();
    expect(await open('main-acme.localhost', forwarded)).toEqual([401]);
    expect(await open('main-corp.localhost', forwarded)).toEqual([421]);
  });
});

describe('without TLS', () => {
  it('the host alone says which workspace is meant', async () => {
    const { port } = await hosted();
    const hosts = ['main-acme.localhost', 'main-corp.localhost', 'nowhere.localhost'];
    const socket = connectPlain(port, '127.0.0.1');
    expect(
      await statusesOver(
        socket,
        hosts.map(host => asking(host)),
      ),
    ).toEqual([401, 401, 404]);
  });

  it('a request that names two hosts is refused', async () => {
    const { port, authUrl } = await hosted();
    const send = (head: readonly string[], to = port) => statusesOver(connectPlain(to, '127.0.0.1'), [head]);
    const acme = 'main-acme.localhost';
    const absolute = (target: string, host: string) => [
      `GET ${target}/api/v1/system/inputs HTTP/1.1`,
      `Host: ${host}`,
    ];
    expect(await send(asking(acme, 'Host: main-corp.localhost'))).toEqual([400]);
    expect(await send(asking(acme, `host: ${acme}`))).toEqual([400]);
    expect(await send(asking(acme, `host: ${acme}`), Number(new URL(authUrl).port))).toEqual([400]);
    expect(await send(absolute('http://main-corp.localhost', acme))).toEqual([400]);
    expect(await send(absolute(`http://corp@${acme}`, acme))).toEqual([400]);
    expect(await send(absolute(`HTTP://Main-Acme.localhost`, acme))).toEqual([401]);
  });
});
