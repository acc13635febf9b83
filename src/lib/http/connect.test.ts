import { createServer, type Server, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { settle, testClock } from '../../../test/helpers/clock.ts';
import { stalledListener } from '../../../test/helpers/stalled-listener.ts';
import { until } from '../../../test/helpers/until.ts';
import { byFamilyInTurn, openSocket, raceAddresses } from './connect.ts';
import { createAddressGuard, type Resolve } from './guard.ts';

const guard = createAddressGuard({ privateAddresses: 'allow', allowedAddresses: [] });

const resolving =
  (...addresses: readonly string[]): Resolve =>
  (_, done) =>
    done(
      null,
      addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
    );

/** Listens on loopback; `open` counts the connections that stand. */
async function listener(host = '127.0.0.1', port = 0) {
  const sockets = new Set<Socket>();
  const server: Server = createServer(socket => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.resume();
  });
  await new Promise<void>(resolve => server.listen(port, host, resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    open: () => sockets.size,
  };
}

test('families take turns, beginning with that of the first address', () => {
  const of = (...addresses: string[]) =>
    byFamilyInTurn(addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))).map(
      ({ address }) => address,
    );
  expect(of('::1', '::2', '::3', '1.1.1.1', '2.2.2.2')).toEqual(['::1', '1.1.1.1', '::2', '2.2.2.2', '::3']);
  expect(of('1.1.1.1', '::1', '2.2.2.2')).toEqual(['1.1.1.1', '::1', '2.2.2.2']);
  expect(of('3.3.3.3', '1.1.1.1')).toEqual(['3.3.3.3', '1.1.1.1']);
});

test('a first address that does not answer costs a quarter of a second', async () => {
  const { port } = await listener();
  await stalledListener('127.0.0.2', port);
  const clock = testClock();
  const opened = openSocket({
    host: 'receiver.example',
    port,
    guard,
    resolve: resolving('127.0.0.2', '127.0.0.1'),
    clock,
  });
  let socket: Socket | undefined;
  void opened.then(one => {
    socket = one;
  });
  await settle();
  await clock.advance(249);
  expect(socket).toBeUndefined();
  await clock.advance(1);
  expect((await opened).remoteAddress).toBe('127.0.0.1');
  socket?.destroy();
});

test('an address that refuses is followed by the next at once', async () => {
  const { port } = await listener();
  const resolve = resolving('127.0.0.3', '127.0.0.4', '127.0.0.1');
  const socket = await openSocket({ host: 'receiver.example', port, guard, resolve, clock: testClock() });
  expect(socket.remoteAddress).toBe('127.0.0.1');
  socket.destroy();
});

test('a slow handshake is waited for, however many addresses there are', async () => {
  const { port, release } = await stalledListener('127.0.0.2');
  const clock = testClock();
  const resolve = resolving('127.0.0.2', '127.0.0.2');
  const opened = openSocket({ host: 'receiver.example', port, guard, resolve, clock });
  for (let attempts = 0; attempts < 20; attempts++) await clock.advance(250);
  release();
  const socket = await opened;
  expect(socket.remoteAddress).toBe('127.0.0.2');
  socket.destroy();
});

test('attempts that lose are closed, also those that succeed later', async () => {
  const { port, open } = await listener();
  const clock = testClock();
  const late: ((socket: Socket) => void)[] = [];
  const to = { host: 'receiver.example', port, guard, resolve: resolving('127.0.0.1', '127.0.0.2'), clock };
  const dial = () => openSocket({ ...to, host: '127.0.0.1' });
  const opened = raceAddresses(to, ({ address }) =>
    address === '127.0.0.1' ? new Promise(resolve => late.push(resolve)) : dial(),
  );
  await settle();
  await clock.advance(250);
  const winner = await opened;
  const loser = await dial();
  late[0]?.(loser);
  await until(() => loser.destroyed && open() === 1);
  winner.destroy();
});

test('a forbidden address among several refuses the name before any socket is opened', async () => {
  const { port, open } = await listener();
  let attempts = 0;
  const resolve = resolving('127.0.0.1', '169.254.169.254');
  await expect(openSocket({ host: 'receiver.example', port, guard, resolve })).rejects.toThrow(/metadata/);
  await expect(
    raceAddresses({ host: 'receiver.example', port, guard, resolve }, () => {
      attempts += 1;
      return Promise.reject(new Error('never'));
    }),
  ).rejects.toThrow(/metadata/);
  expect([attempts, open()]).toEqual([0, 0]);
});

test('a name is looked up once, however many of its addresses are tried', async () => {
  const { port } = await listener();
  let lookups = 0;
  const resolve: Resolve = (hostname, done) => {
    lookups += 1;
    resolving('127.0.0.5', '127.0.0.6', '127.0.0.1')(hostname, done);
  };
  const socket = await openSocket({ host: 'receiver.example', port, guard, resolve });
  socket.destroy();
  expect(lookups).toBe(1);
});

test('where no address answers the failure is that of the first that there is a way to', async () => {
  const { port } = await listener();
  const to = { host: 'receiver.example', port, guard, resolve: resolving('127.0.0.5', '::ffff:127.0.0.7') };
  await expect(openSocket(to)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  const failing = ({ address }: { readonly address: string }): Promise<Socket> =>
    Promise.reject(
      Object.assign(new Error(address), {
        code: address === '127.0.0.5' ? 'ENETUNREACH' : 'ECONNREFUSED',
      }),
    );
  await expect(raceAddresses(to, failing)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('a connection that is given up while it is looked up, opened or raced leaves nothing open', async () => {
  const { port } = await stalledListener('127.0.0.2');
  const abort = new AbortController();
  const clock = testClock();
  const to = { host: 'receiver.example', port, guard, clock, signal: abort.signal };
  const opened = openSocket({ ...to, resolve: resolving('127.0.0.2', '127.0.0.2') });
  const looked = openSocket({ ...to, resolve: () => {} });
  await settle();
  await clock.advance(250);
  abort.abort();
  await expect(opened).rejects.toMatchObject({ code: 'UND_ERR_ABORTED' });
  await expect(looked).rejects.toMatchObject({ code: 'UND_ERR_ABORTED' });
  await expect(openSocket({ ...to, resolve: resolving('127.0.0.2') }), 'after that').rejects.toMatchObject({
    code: 'UND_ERR_ABORTED',
  });
});
