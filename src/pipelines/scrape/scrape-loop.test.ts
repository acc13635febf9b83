import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { certificateAuthority } from '../../../test/helpers/certificates.ts';
import { observedClockOf } from '../../../test/helpers/clock.ts';
import { NO_FILES } from '../../../test/helpers/monitor.ts';
import { systemClock } from '../../lib/clock.ts';
import { createHttpClient, type HttpClient } from '../../lib/http/client.ts';
import type { ClientTls } from '../../lib/http/tunnel.ts';
import { type OperatorFiles, pipelineSchema } from '../settings.ts';
import { type ScrapeResult, startScraping } from './scrape-loop.ts';

const observedClock = observedClockOf(systemClock);
afterAll(() => observedClock.stop());

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-path`;
}

function client(): HttpClient {
  const http = createHttpClient({ clock: systemClock, privateAddresses: 'allow', allowedAddresses: [] });
  cleanups.push(() => http.close());
  return http;
}

/** The first page of a pipeline over real HTTP. */
async function pageOf(
  url: string,
  more: object = {},
  files: OperatorFiles = NO_FILES,
): Promise<ScrapeResult> {
  const settings = pipelineSchema.parse({ id: 'edge', engine: 'vector', url, timeout: '10s', ...more });
  if (settings.push) throw new Error('a pull pipeline was expected');
  const take = vi.fn<(page: ScrapeResult) => void>();
  cleanups.push(
    startScraping({
      settings,
      url,
      http: client(),
      clock: observedClock,
      files,
      random: () => 0,
      onResult: take,
    }),
  );
  await expect.poll(() => take.mock.calls.length).toBeGreaterThan(0);
  return take.mock.calls[0]?.[0] ?? { error: 'none', failure: 'other' };
}

const errorOf = (page: ScrapeResult): string => ('error' in page ? page.error : '');

describe('startScraping over real HTTP', () => {
  it('reads a page that is packed', async () => {
    const url = await serve((request, response) => {
      expect(request.headers['accept-encoding']).toBe('gzip');
      response.setHeader('content-encoding', 'gzip').end(gzipSync('a_total 1\n'));
    });
    expect(await pageOf(url)).toEqual({ body: Buffer.from('a_total 1\n'), openMetrics: false });
  });

  it('gives up on a page that never ends to come', async () => {
    const url = await serve((_, response) => response.write('a_total 1\n'));
    expect(errorOf(await pageOf(url, { timeout: '300ms' }))).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+: timed out after 0\.3 s (?:waiting for the first byte of|reading) the answer$/,
    );
  });

  it('stops reading a page that is too large, and one that unpacks to too much', async () => {
    const plain = await serve((_, response) => response.end(Buffer.alloc(100_000, 'a 1\n')));
    const packed = await serve((_, response) =>
      response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(5_000_000))),
    );
    for (const url of [plain, packed])
      expect(errorOf(await pageOf(url, { maxBytes: 10_000, timeout: '5s' }))).toMatch(
        /larger than 10000 bytes/,
      );
  });

  it('names the address and nothing more of the url when nobody listens', async () => {
    const page = await pageOf('http://127.0.0.1:1/secret-path');
    expect(errorOf(page)).toMatch(/^http:\/\/127\.0\.0\.1:1: /);
    expect(errorOf(page)).not.toContain('secret-path');
  });

  it('sends its token and follows no redirect', async () => {
    const seen: string[] = [];
    const url = await serve((request, response) => {
      seen.push(String(request.headers.authorization));
      response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    });
    expect(errorOf(await pageOf(url, { token: 'token of edge' }))).toMatch(/answered 302, a redirect/);
    expect(seen).toEqual(['Bearer token of edge']);
  });

  it('sends a name with its password where the page asks for these', async () => {
    const seen: string[] = [];
    const url = await serve((request, response) => {
      seen.push(String(request.headers.authorization));
      response.end('a_total 1\n');
    });
    await pageOf(url, { username: 'ann', password: 'päss:word' });
    expect(seen).toEqual([`Basic ${Buffer.from('ann:päss:word').toString('base64')}`]);
  });

  it('follows no redirect to another host, nor to its own', async () => {
    let asked = 0;
    const other = await serve((_, response) => {
      asked++;
      response.end('a_total 1\n');
    });
    const url = await serve((request, response) => {
      asked += request.url === '/here' ? 1 : 0;
      response.writeHead(307, { location: request.url === '/secret-path' ? other : '/here' }).end();
    });
    expect(errorOf(await pageOf(url))).toMatch(/answered 307, a redirect; set url to where it leads$/);
    expect(asked).toBe(0);
  });
});

describe('startScraping over https', () => {
  const read = (path: string) => readFileSync(path, 'utf8');

  /** A page that is shown to clients with a certificate of the authority. */
  async function guarded() {
    const authority = certificateAuthority();
    const { cert, key } = authority.issue('engine');
    const server = createTlsServer(
      {
        cert: read(cert),
        key: read(key),
        ca: read(authority.cert),
        requestCert: true,
        rejectUnauthorized: true,
      },
      (_, response) => response.end('a_total 1\n'),
    );
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
    return { url, authority, ca: read(authority.cert) };
  }

  const withTls = (url: string, tls: ClientTls, settings: object = {}): Promise<ScrapeResult> =>
    pageOf(url, { tls: settings, timeout: '5s' }, { ...NO_FILES, tls: () => ({ tls, fault: undefined }) });

  it('shows its certificate, with a key that is encrypted, and trusts the configured authority', async () => {
    const { url, authority, ca } = await guarded();
    const { cert, key } = authority.issue('reader', 'open sesame');
    const tls = { cert: read(cert), key: read(key), passphrase: 'open sesame', ca, fingerprint: '1' };
    expect(await withTls(url, tls)).toEqual({ body: Buffer.from('a_total 1\n'), openMetrics: false });
  });

  it('is refused without a certificate, and refuses a certificate without a trusted authority', async () => {
    const { url, authority, ca } = await guarded();
    const { cert, key } = authority.issue('reader');
    const pair = { cert: read(cert), key: read(key) };
    expect(errorOf(await withTls(url, { ca, fingerprint: '2' }))).toMatch(/certificate|TLS|closed before/i);
    expect(errorOf(await withTls(url, { ...pair, fingerprint: '3' }))).toMatch(/certificate/);
    expect(await withTls(url, { ...pair, fingerprint: '4' }, { rejectUnauthorized: false })).toMatchObject({
      body: Buffer.from('a_total 1\n'),
    });
  });

  it('shows no certificate on connections of pipelines that have none', async () => {
    const { url, authority, ca } = await guarded();
    const { cert, key } = authority.issue('reader');
    const http = client();
    const shown = { cert: read(cert), key: read(key), ca, fingerprint: '5' };
    const ask = (tls: ClientTls) =>
      http.request({ url, method: 'GET', timeoutMs: 5000, maxAnswerBytes: 100, tls });
    expect((await ask(shown)).status).toBe(200);
    await expect(ask({ ca, fingerprint: '6' })).rejects.toThrow(/^https:/);
    expect((await ask(shown)).status).toBe(200);
  });
});
