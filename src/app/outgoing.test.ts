import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { alarm } from '../../test/helpers/any-event.ts';
import { stalledListener } from '../../test/helpers/stalled-listener.ts';
import { LOCAL_TARGETS, networkTargets } from '../../test/helpers/target-samples.ts';
import { workspacePolicy } from '../config/restrictions.ts';
import { withDeliveryHints } from '../events/delivery-hints.ts';
import { systemClock } from '../lib/clock.ts';
import { HttpFailure } from '../lib/http/failure.ts';
import type { Resolve } from '../lib/http/guard.ts';
import { proxiesFrom } from '../lib/http/proxy.ts';
import { SecretUrl } from '../lib/secret.ts';
import { findTargetType, targetTypes } from '../targets/index.ts';
import { installationOutgoing, type Outgoing, workspaceOutgoing } from './outgoing.ts';

const HOST = 'receiver.example';

/** Counts who comes, and answers nobody. */
async function listener() {
  let connections = 0;
  const server = createServer(socket => {
    connections += 1;
    socket.on('error', () => {}).destroy();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    connections: () => connections,
  };
}

/** The first address of every name hangs. */
const resolve: Resolve = (_, done) =>
  done(null, [
    { address: '127.0.0.2', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ]);

const outgoings: Readonly<Record<string, () => Outgoing>> = {
  installation: () =>
    installationOutgoing({
      delivery: {
        ...{ retrySchedule: [], mostWaiting: 1, concurrency: 1 },
        ...{ privateAddresses: 'allow', allowedAddresses: [] },
      },
      proxies: proxiesFrom({}),
      clock: systemClock,
      resolve,
    }),
  workspace: () =>
    workspaceOutgoing({
      policy: { privateAddresses: 'refuse', allowedAddresses: ['127.0.0.0/8'] },
      egressProxy: undefined,
      externalUrl: 'https://acme.example',
      mostLogFolders: 1,
      clock: systemClock,
      resolve,
    }),
};

test('the table of targets that send over the network is whole', () => {
  const types = [...networkTargets(HOST, 1).map(({ type }) => type), ...LOCAL_TARGETS];
  expect(types.sort()).toEqual(targetTypes.map(({ type }) => type).sort());
});

/** Sends an event to every target, and reads a page; tells after each what was asked for. */
async function useAll(
  { http, dial, sender }: Outgoing,
  targets: readonly { readonly type: string }[],
  page: string,
  used: (what: string) => void,
): Promise<void> {
  const event = withDeliveryHints(alarm, {
    ...alarm,
    __targetConfigs: { smtp: { emailRecipient: { to: 'ops@example.com' } } },
  });
  const { signal } = new AbortController();
  for (const settings of targets) {
    await findTargetType(settings.type)
      ?.configure(settings)
      .send([event], {
        ...{ deliveryId: 'd1', http, dial, sender, clock: systemClock, signal },
        ...{ secretOf: () => undefined, logFolder: '/nowhere' },
      });
    used(settings.type);
  }
  // Pages of metrics and providers of identities are read with it.
  const asked = { method: 'GET', timeoutMs: 60_000, maxAnswerBytes: 1000 } as const;
  await expect(http.request({ ...asked, url: page })).rejects.toThrow();
  used('page');
}

test.each(Object.keys(outgoings))(
  'whatever the %s sends or reads gets through to a host whose first address does not answer',
  async reach => {
    const { port, connections } = await listener();
    await stalledListener('127.0.0.2', port);
    const outgoing = outgoings[reach]?.();
    if (outgoing === undefined) throw new Error('there is no such way out');
    onTestFinished(() => outgoing.close());
    let before = 0;
    await useAll(outgoing, networkTargets(HOST, port), `http://${HOST}:${port}/metrics`, what => {
      expect(connections(), what).toBeGreaterThan(before);
      before = connections();
    });
  },
);

test('whatever a workspace sends or reads goes through the proxy of the installation, the roles of AWS too', async () => {
  const { port, connections } = await listener();
  const connectsTo: string[] = [];
  const proxy = createHttpServer().on('connect', ({ url = '' }, socket) => {
    connectsTo.push(url);
    socket.on('error', () => {}).end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  await new Promise<void>(done => proxy.listen(0, '127.0.0.1', done));
  onTestFinished(() => void proxy.close());
  const { port: proxyPort } = proxy.address() as AddressInfo;
  const outgoing = workspaceOutgoing({
    policy: { privateAddresses: 'refuse', allowedAddresses: ['127.0.0.0/8'] },
    egressProxy: new SecretUrl(`http://127.0.0.1:${proxyPort}`),
    ...{ externalUrl: 'https://acme.example', mostLogFolders: 1, clock: systemClock },
    resolve: (_, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
  });
  onTestFinished(() => outgoing.close());
  const sns = networkTargets(HOST, port).find(({ type }) => type === 'sns');
  const withRole = { ...sns, enableAssumeRole: true, assumeRoleArn: 'arn:aws:iam::123456789012:role/a' };
  const targets = [...networkTargets(HOST, port), { ...withRole, type: 'sns' }];
  const asked: string[] = [];
  await useAll(outgoing, targets, `http://${HOST}:${port}/metrics`, what => {
    expect(connectsTo.length, what).toBeGreaterThan(0);
    asked.push(...new Set(connectsTo.splice(0)));
  });
  // Addresses, judged here; the role is asked for at AWS, by a name that the proxy never learns.
  const to = `127.0.0.1:${port}`;
  expect(asked).toEqual([...networkTargets(HOST, port).map(() => to), '127.0.0.1:443', to]);
  expect(connections()).toBe(0);
});

test('whatever a workspace sends or reads answers of a name inside what it answers of one that there is not', async () => {
  const resolve: Resolve = (host, done) =>
    host === 'inside.example'
      ? done(null, [{ address: '10.0.0.1', family: 4 }])
      : done(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), []);
  const outgoing = workspaceOutgoing({
    ...{
      policy: workspacePolicy({ privateAddresses: 'allow', allowedAddresses: [] }),
      egressProxy: undefined,
    },
    ...{ externalUrl: 'https://acme.example', mostLogFolders: 1, clock: systemClock, resolve },
  });
  onTestFinished(() => outgoing.close());
  const { http, dial, sender } = outgoing;
  const event = withDeliveryHints(alarm, {
    ...alarm,
    __targetConfigs: { smtp: { emailRecipient: { to: 'ops@example.com' } } },
  });
  /** What is said of each kind of target, and of a page, at a host. */
  async function answersOf(host: string): Promise<readonly unknown[]> {
    const answers: unknown[] = [];
    for (const settings of networkTargets(host, 9)) {
      const outcome = await findTargetType(settings.type)
        ?.configure(settings)
        .send([event], {
          ...{
            deliveryId: 'd1',
            http,
            dial,
            sender,
            clock: systemClock,
            signal: new AbortController().signal,
          },
          ...{ secretOf: () => undefined, logFolder: '/nowhere' },
        });
      answers.push([settings.type, outcome]);
    }
    const asked = { method: 'GET', timeoutMs: 60_000, maxAnswerBytes: 1000 } as const;
    await http.request({ ...asked, url: `http://${host}:9/metrics` }).catch((error: unknown) => {
      answers.push([error instanceof HttpFailure && error.reason, String(error)]);
    });
    return JSON.parse(JSON.stringify(answers).replaceAll(host, 'HOST'));
  }
  const inside = await answersOf('inside.example');
  expect(inside).toEqual(await answersOf('missing.example'));
  expect(inside).toHaveLength(networkTargets(HOST, 9).length + 1);
  for (const answer of inside)
    expect(JSON.stringify(answer)).toContain('cannot be resolved, or leads to an address that is not public');
});
