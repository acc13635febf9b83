import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { Agent } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { startApp } from '../../src/app/app.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { monotonicIds } from '../../src/lib/ids.ts';
import type { Logger } from '../../src/lib/logger.ts';
import { writeConfiguration } from '../acceptance/files.ts';
import { certificateAuthority, type Pair } from '../helpers/certificates.ts';
import { type AskOptions, ask, showing, trusting } from '../helpers/https.ts';
import { until } from '../helpers/until.ts';

/** The product in this process, with a certificate in `tls/` behind a link, as volumes are mounted. */
async function served(pair: Pair, tls: object = {}) {
  const root = mkdtempSync(join(tmpdir(), 'headgate-tls-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const config = join(root, 'config');
  mkdirSync(join(config, 'tls'), { recursive: true });
  let count = 0;
  function mount({ cert, key }: Pair): void {
    const name = `..${count++}`;
    mkdirSync(join(config, 'tls', name));
    copyFileSync(cert, join(config, 'tls', name, 'tls.crt'));
    copyFileSync(key, join(config, 'tls', name, 'tls.key'));
    symlinkSync(name, join(config, 'tls', '..next'));
    renameSync(join(config, 'tls', '..next'), join(config, 'tls', '..data'));
  }
  mount(pair);
  const paths = { certPath: 'tls/..data/tls.crt', privKeyPath: 'tls/..data/tls.key' };
  writeConfiguration(config, { settings: { api: { tls: { ...paths, ...tls } } } });
  const lines: string[] = [];
  const write = (fields: object, message: string): void =>
    void lines.push(JSON.stringify({ ...fields, message }));
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  const app = await startApp({
    configFolder: config,
    dataFolder: join(root, 'data'),
    flags: { 'api.port': '0' },
    environment: {},
    clock: systemClock,
    ids: monotonicIds(systemClock),
    random: Math.random,
    logger,
  });
  onTestFinished(() => app.stop());
  return { url: app.url, mount, log: () => lines.join('\n') };
}

const metricIn = (text: string, name: string) => new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];

it('speaks https and says so, and nothing to those who speak http', async () => {
  const authority = certificateAuthority();
  const { url, log } = await served(authority.issue('server'));
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect((await ask(`${url}/api/v1/health`, trusting(authority))).status).toBe(200);
  await expect(fetch(`${url.replace('https', 'http')}/api/v1/health`)).rejects.toThrow();
  await expect(fetch(`${url}/api/v1/health`)).rejects.toThrow();
  expect((await ask(`${url}/api/v1/health`, trusting(authority))).status).toBe(200);
  const { text } = await ask(`${url}/metrics`, trusting(authority));
  const notAfter = Number(metricIn(text, 'headgate_tls_certificate_not_after_seconds'));
  expect(notAfter - Date.now() / 1000).toBeGreaterThan(86_400);
  expect(log()).toContain(new Date(notAfter * 1000).toISOString());
});

it('ends the connection of who sends bytes that are no TLS', async () => {
  const { url } = await served(certificateAuthority().issue('server'));
  const received = await new Promise<string>((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connectPlain(Number(new URL(url).port), '127.0.0.1', () =>
      socket.write('GET / HTTP/1.1\r\n\r\n'),
    );
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
  });
  expect(received).not.toContain('HTTP/1.1');
});

it('speaks TLS 1.2 and 1.3, and 1.1 to nobody', async () => {
  const authority = certificateAuthority();
  const { url } = await served(authority.issue('server'));
  const speak = (version: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3') =>
    new Promise<string | null>((resolve, reject) => {
      const socket = connect({
        port: Number(new URL(url).port),
        host: '127.0.0.1',
        ca: readFileSync(authority.cert),
        minVersion: version,
        maxVersion: version,
        ciphers: 'DEFAULT@SECLEVEL=0',
      });
      socket.once('secureConnect', () => {
        resolve(socket.getProtocol());
        socket.destroy();
      });
      socket.once('error', reject);
    });
  expect(await speak('TLSv1.2')).toBe('TLSv1.2');
  expect(await speak('TLSv1.3')).toBe('TLSv1.3');
  await expect(speak('TLSv1.1')).rejects.toThrow(/protocol version/i);
});

it('takes up a new certificate under load, without a connection that is dropped', async () => {
  const authority = certificateAuthority();
  const { url, mount } = await served(authority.issue('first'));
  const seen = new Set<string>();
  const ports = new Set<unknown>();
  let isOver = false;
  const failures: unknown[] = [];
  const kept = new Agent({ keepAlive: true, maxSockets: 4, ca: readFileSync(authority.cert) });
  onTestFinished(() => kept.destroy());
  let answered = 0;
  async function load(options: AskOptions): Promise<void> {
    while (!isOver)
      await ask(`${url}/api/v1/health`, options).then(
        ({ status, fingerprint, port }) => {
          if (status !== 200) failures.push(status);
          if (options.agent === false) seen.add(fingerprint);
          else ports.add(port);
          answered += 1;
        },
        error => failures.push(error),
      );
  }
  const loads = [...Array(4)].map(() => load({ agent: kept })).concat(load(trusting(authority)));
  await until(() => answered > 20, 'answers before');
  mount(authority.issue('second'));
  await until(() => seen.size === 2, 'the second certificate');
  mount(authority.issue('third'));
  await until(() => seen.size === 3, 'the third certificate');
  const before = answered;
  await until(() => answered > before + 20, 'answers after');
  isOver = true;
  await Promise.all(loads);
  expect(failures).toEqual([]);
  expect(ports.size).toBe(4);
});

it('keeps the certificate in use while the pair on disk does not fit, and says so', async () => {
  const authority = certificateAuthority();
  const { url, mount, log } = await served(authority.issue('first'));
  const { fingerprint } = await ask(`${url}/metrics`, trusting(authority));
  const second = authority.issue('second');
  mount({ cert: second.cert, key: authority.issue('another').key });
  const isOk = async () =>
    metricIn((await ask(`${url}/metrics`, trusting(authority))).text, 'headgate_tls_certificate_ok');
  await until(async () => (await isOk()) === '0', 'the metric');
  expect(log()).toContain('the new certificate cannot be used; the old one stays');
  expect(log()).toContain('is not that of the certificate in');
  expect((await ask(`${url}/metrics`, trusting(authority))).fingerprint).toBe(fingerprint);
  mount(second);
  await until(async () => (await isOk()) === '1', 'the pair that fits');
  expect((await ask(`${url}/metrics`, trusting(authority))).fingerprint).not.toBe(fingerprint);
});

it('does not start with a pair that does not fit', async () => {
  const authority = certificateAuthority();
  const pair = { cert: authority.issue('server').cert, key: authority.issue('other').key };
  await expect(served(pair)).rejects.toThrow(/^api\.tls\.privKeyPath: the key in .* is not that of/);
});

it('opens an encrypted key with its passphrase, which shows nowhere', async () => {
  const authority = certificateAuthority();
  const passphrase = 'open-sesame';
  const { url, log } = await served(authority.issue('server', passphrase), { passphrase });
  expect((await ask(`${url}/api/v1/health`, trusting(authority))).status).toBe(200);
  expect(log()).not.toContain(passphrase);
});

it('answers only clients whose certificate the authority signed, where it must be shown', async () => {
  const authority = certificateAuthority();
  const { url } = await served(authority.issue('server'), { caPath: authority.cert, requestCert: true });
  const health = `${url}/api/v1/health`;
  const trusted = trusting(authority);
  expect((await ask(health, { ...trusted, ...showing(authority.issue('client')) })).status).toBe(200);
  await expect(ask(health, trusted)).rejects.toThrow();
  const stranger = certificateAuthority('a stranger').issue('client');
  await expect(ask(health, { ...trusted, ...showing(stranger) })).rejects.toThrow();
});
