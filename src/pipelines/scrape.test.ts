import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { NO_FILES } from '../../test/helpers/monitor.ts';
import { systemClock } from '../lib/clock.ts';
import type { HttpClient } from '../lib/http.ts';
import { createHttpClient } from '../lib/http-client.ts';
import { type Page, startScraping } from './scrape.ts';
import { pipelineSchema } from './settings.ts';

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
async function pageOf(url: string, more: object = {}): Promise<Page> {
  const settings = pipelineSchema.parse({ id: 'edge', engine: 'vector', url, timeout: '300ms', ...more });
  if (settings.push) throw new Error('a pull pipeline was expected');
  const take = vi.fn<(page: Page) => void>();
  cleanups.push(
    startScraping({
      settings,
      url,
      http: client(),
      clock: systemClock,
      files: NO_FILES,
      random: () => 0,
      take,
    }),
  );
  await vi.waitFor(() => expect(take).toHaveBeenCalled());
  return take.mock.calls[0]?.[0] ?? { error: 'none', unread: 'other' };
}

const errorOf = (page: Page): string => ('error' in page ? page.error : '');

describe('startScraping over real HTTP', () => {
  it('reads a page that is packed', async () => {
    const url = await serve((request, response) => {
      expect(request.headers['accept-encoding']).toBe('gzip');
      response.setHeader('content-encoding', 'gzip').end(gzipSync('a_total 1\n'));
    });
    expect(await pageOf(url)).toEqual({ text: 'a_total 1\n', openMetrics: false });
  });

  it('gives up on a page that never ends to come', async () => {
    const url = await serve((_, response) => response.write('a_total 1\n'));
    expect(errorOf(await pageOf(url))).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+: no complete answer within 300ms$/,
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
});
