import { expect, it } from 'vitest';
import { configurationOf } from '../../test/helpers/config-folder.ts';
import { seenCertificates, serverCertificate, signingKey } from './expiries.ts';

it('tells of the certificates of pipelines and targets that speak TLS, once one was shown', () => {
  const configuration = configurationOf({
    settings: `pipelines:
  - { id: edge, engine: vector, url: 'https://edge.example:9598/metrics', interval: 10s }
  - { id: plain, engine: vector, url: 'http://plain.example/metrics', interval: 10s }
  - { id: pushing, engine: rsyslog, push: true, token: 'long enough token' }
`,
    notifications: `targets:
  - { id: hook, type: webhook, url: 'https://hooks.example/x' }
  - { id: near, type: webhook, url: 'http://127.0.0.1/x' }
  - { id: bell, type: bulletin_message }
`,
  });
  const seen = new Map([['https://edge.example:9598', 5]]);
  const facts = () => seenCertificates(configuration, origin => seen.get(origin));
  expect(facts()).toEqual([
    { kind: 'certificate', key: 'pipeline/edge', expiresAt: 5 },
    { kind: 'certificate', key: 'target/hook', expiresAt: undefined },
  ]);
  seen.set('https://hooks.example', 7);
  expect(facts()).toContainEqual({ kind: 'certificate', key: 'target/hook', expiresAt: 7 });
});

it('tells of the own certificate where there is one', () => {
  expect(serverCertificate(undefined)).toEqual([]);
  expect(serverCertificate({ notAfter: () => 9 })).toEqual([
    { kind: 'certificate', key: 'server', expiresAt: 9 },
  ]);
});

it('gives the key of tokens an hour to be turned, after which somebody has to look', () => {
  const fact = { kind: 'credential', key: 'signing-key', autoRenews: true };
  expect(signingKey({ rotatesAt: () => 1000 })).toEqual([{ ...fact, expiresAt: 3_601_000 }]);
  expect(signingKey({ rotatesAt: () => undefined })).toEqual([{ ...fact, expiresAt: undefined }]);
});
