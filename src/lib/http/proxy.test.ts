import { describe, expect, test } from 'vitest';
import { proxiesFrom } from './proxy.ts';

const PROXY = 'http://proxy.example:3128';
const through = (environment: Record<string, string>, url: string): string | undefined =>
  proxiesFrom(environment).proxyFor(new URL(url))?.origin;

describe('the proxy for an address', () => {
  test.each([
    [{ HTTP_PROXY: PROXY }, 'http://a.example/', PROXY],
    [{ HTTP_PROXY: PROXY }, 'https://a.example/', undefined],
    [{ https_proxy: 'proxy.example:3128' }, 'https://a.example/', PROXY],
    [{ HTTPS_PROXY: 'https://proxy.example' }, 'https://a.example/', 'https://proxy.example'],
    [{ HTTPS_PROXY: 'http://other.example', https_proxy: PROXY }, 'https://a.example/', PROXY],
    [{ HTTPS_PROXY: PROXY, https_proxy: '' }, 'https://a.example/', undefined],
    [{}, 'https://a.example/', undefined],
  ])('of %j to %s is %s', (environment, url, proxy) => {
    expect(through(environment, url)).toBe(proxy);
  });

  test.each([
    ['*', 'https://a.example/'],
    ['other.example, A.example', 'https://a.example/'],
    ['example', 'https://a.example/'],
    ['.a.example', 'https://b.a.example/'],
    ['*.a.example', 'https://b.a.example/'],
    ['a.example:443', 'https://a.example/'],
    ['10.0.0.0/8', 'https://10.1.2.3/'],
    ['10.1.2.3', 'https://10.1.2.3/'],
    ['10.1.2.3:8443', 'https://10.1.2.3:8443/'],
    ['fd00::/8', 'https://[fd12::1]/'],
    ['fd12::1', 'https://[fd12::1]/'],
    ['[fd12::1]:443', 'https://[fd12::1]/'],
    ['', 'https://localhost/'],
    ['', 'https://127.0.0.1/'],
    ['', 'https://[::1]/'],
  ])('is none with NO_PROXY=%s for %s', (NO_PROXY, url) => {
    expect(through({ HTTPS_PROXY: PROXY, NO_PROXY }, url)).toBeUndefined();
  });

  test.each([
    ['a.example', 'https://ba.example/'],
    ['a.example:8443', 'https://a.example/'],
    ['10.0.0.0/8', 'https://11.1.2.3/'],
    ['10.0.0.0/8', 'https://a.example/'],
    ['', 'https://127.0.0.1.example/'],
  ])('is there with NO_PROXY=%s for %s', (NO_PROXY, url) => {
    expect(through({ HTTPS_PROXY: PROXY, NO_PROXY }, url)).toBe(PROXY);
  });

  test('gets name and password, and shows neither', () => {
    const proxy = proxiesFrom({ HTTP_PROXY: 'http://ada:p%40ss@proxy.example:3128' }).proxyFor(
      new URL('http://a.example'),
    );
    const authorization = `Basic ${Buffer.from('ada:p@ss').toString('base64')}`;
    expect(proxy).toEqual({ origin: PROXY, authorization });
  });
});

test('the configured proxies are shown without names and passwords', () => {
  const environment = { https_proxy: 'http://ada:s3cret@proxy.example:3128', NO_PROXY: 'a.example' };
  expect(proxiesFrom(environment).configured).toEqual({ HTTPS_PROXY: PROXY });
  expect(proxiesFrom({}).configured).toEqual({});
});

test.each(['socks5://ada:s3cret@proxy.example', 'http://ada:s3cret%@proxy.example', 'http://ada:s3cret@'])(
  'a proxy of %s is refused by the name of its variable, without its password',
  text => {
    const reading = (): unknown => proxiesFrom({ https_proxy: text });
    expect(reading).toThrow(/^HTTPS_PROXY must be the address of a proxy/);
    expect(reading).not.toThrow(/s3cret/);
  },
);
